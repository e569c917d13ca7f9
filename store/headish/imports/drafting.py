"""Make a draft of a message of another program.

A file's values come out of a JSON decoder. So a value that comes back equal from its own encoding needs no look at each
of its parts, and the text to be stored shows at once whether a secret key may be in it. Anything else is checked with
care, as everything that a caller gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from headish.content import encoding, strictjson
from headish.content.drafts import Draft, encode_attributes, make_draft
from headish.content.facts import NO_FACTS, Facts, plausible_time, read_key
from headish.content.forms.foreign import ForeignMessage, read_kept
from headish.content.hashes import DigestFields, hash_payload
from headish.content.secrecy.finding import is_quiet
from headish.errors import HeadishError, TooLarge
from headish.imports.cleaning import META_BYTES, within_limit, without_secrets
from headish.imports.notes import ImportNotes
from headish.imports.reader import SourceMessage
from headish.values.checks.attributes import is_header_value
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.messages import ROLES

_TEXT = {"type", "text"}
_BESIDE_BYTES = 100
"""The most bytes that a key of a meta takes beside its value."""


def draft_node(
    format: str, node: SourceMessage, notes: ImportNotes, limit_bytes: int, *, is_sound: bool = False
) -> Draft | None:
    """Make the draft of a message; None for one that says nothing, or that cannot be kept and is noted as broken.

    ``is_sound``: its meta and its reply were decoded from sound JSON (``strictjson``), and ``read_native`` read its
    blocks from such.
    """
    if node.content is None:
        return None
    try:
        app = _encode_meta(format, node, notes, is_sound=is_sound)
        draft = _draft_content(node, limit_bytes, is_sound=is_sound)
        facts = _read_facts(node)
        system = _encode_system(node, draft.system, facts, is_sound=is_sound)
        return replace(draft, facts=facts, app=app, system=system)
    except HeadishError as error:
        notes.break_off(node.where, str(error))
        return None


def read_native(
    form: str, entry: Mapping[str, Any], notes: ImportNotes, where: str, *, is_sound: bool = False
) -> ForeignMessage | None:
    """Read an API's message as its program has kept it; None if it cannot be kept, which is noted as broken."""
    try:
        return read_kept(form, entry, is_sound=is_sound)
    except HeadishError as error:
        notes.break_off(where, str(error))
        return None


def _draft_content(node: SourceMessage, limit_bytes: int, *, is_sound: bool) -> Draft:
    """Make a draft of what a message says, without the facts about it. Raises: as ``make_draft``."""
    assert node.content is not None
    attributes = _attributes(node)
    is_plain = node.inherited is None and node.cache is False and node.role in ROLES
    payload = _encode_plain(node.content, is_sound=is_sound) if is_plain else None
    if payload is None:
        options = {"attributes": attributes, "inherited": node.inherited, "cache": node.cache}
        return make_draft(node.content, {"role": node.role, **options}, limit_bytes)
    if len(payload) > limit_bytes:
        raise TooLarge("content", len(payload), limit_bytes)
    return Draft(payload, DigestFields(node.role, hash_payload(payload), attributes=encode_attributes(attributes)))


def _encode_plain(content: Any, *, is_sound: bool) -> bytes | None:
    """Return the payload of a text, or of blocks of the common kinds; None if the content must be checked with care."""
    # A tuple holds blocks that were read before, so they are only encoded.
    if type(content) is tuple:
        return encoding.encode_read(content, is_sound=is_sound)
    block = content[0] if type(content) is list and len(content) == 1 else None
    if type(block) is dict and block.keys() == _TEXT and block["type"] == "text" and type(block["text"]) is str:
        return encoding.encode_text(block["text"])
    return None


def _read_facts(node: SourceMessage) -> Facts:
    said_at = plausible_time(node.said_at) if node.said_at is not None else None
    key = read_key(node.key) if node.key is not None else None
    return NO_FACTS if said_at is None and key is None else Facts(said_at=said_at, key=key)


def _encode_system(node: SourceMessage, own: bytes | None, facts: Facts, *, is_sound: bool) -> bytes | None:
    """Encode headish's own keys of a turn: its provider's reply, its form, its type, its facts.

    The form is left out if a turn cannot hold it.
    """
    others = {**({} if own is None else strictjson.decode(own, "system")), **facts.to_system()}
    reply = {"reply": dict(node.reply)} if node.reply else {}
    if node.form is not None:
        # A layout nests deeper than the message it describes, so that the depth of that proves nothing.
        is_flat = is_sound and "layout" not in node.form
        try:
            return _encode_mapping({**reply, "form": dict(node.form), **others}, "system", is_sound=is_flat)
        except TooLarge:
            pass  # without its form the message still says the same
    return _encode_mapping({**reply, **others}, "system", is_sound=is_sound)


def _encode_meta(format: str, node: SourceMessage, notes: ImportNotes, *, is_sound: bool) -> bytes | None:
    """Encode what the source says beside the message, without what looks like a secret key or is too large, each
    noted."""
    if not node.meta:
        return None
    wrapped = {format: node.meta}
    encoded = strictjson.encode(wrapped) if is_sound else strictjson.encode_read(wrapped)
    room = META_BYTES - _BESIDE_BYTES * len(node.meta)
    # The usual case, decided on the text alone, without a look at each value.
    if encoded is not None and len(encoded) <= room and is_quiet(encoded.decode()):
        return encoded
    meta, hid = without_secrets(node.meta)
    if hid:
        notes.change(node.where, "what looks like a key was hidden in meta")
    meta, gone = within_limit(meta)
    for key in gone:
        notes.leave_out(node.where, f"{key}, too large for meta")
    return _encode_mapping({format: meta}, "meta") if meta else None


def _encode_mapping(given: Mapping[str, Any], what: str, *, is_sound: bool = False) -> bytes | None:
    if not given:
        return None
    encoded = strictjson.encode(given) if is_sound else strictjson.encode_read(given)
    if encoded is None or len(encoded) > MAPPING_LIMIT_BYTES:
        return strictjson.encode_mapping(given, what)
    return encoded


def _attributes(node: SourceMessage) -> dict[str, str] | None:
    """The hidden mark and the speaker. A name that a header cannot hold stays in the meta alone."""
    if node.speaker is None and not node.hidden:
        return None
    named = node.speaker if node.speaker is not None and is_header_value(node.speaker) else None
    return {key: value for key, value in (("hidden", node.hidden), ("speaker", named)) if value} or None
