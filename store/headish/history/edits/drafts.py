"""The drafts of an edit: the turn that replaces another, and the copies that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from headish.content import encoding, strictjson
from headish.content.drafts import Draft
from headish.content.encoding import Content
from headish.content.facts import Facts
from headish.content.forms.parts import without_form
from headish.content.hashes import hash_payload
from headish.errors import InvalidArgument, TooLarge
from headish.history.reading.decode import read_blocks, read_mapping
from headish.history.writing.keys import said_by
from headish.rows.turns import StoredTurn
from headish.values.blocks import ContentBlock, Text
from headish.values.ids import TurnId, time_of
from headish.values.places import Place
from headish.values.times import milliseconds_of
from headish.values.turns import DOCUMENT, reply_of, said_of

Edit = Content | bytes
"""The new content of an edit: text, blocks, or the bytes of a document."""
FACTS = frozenset(Facts.__struct_fields__)
"""The system keys about a turn itself. None of them applies to a turn that replaces or repeats it."""
OF_THE_BYTES = frozenset(("original_path", "file_size"))
"""The system keys about the original bytes of a document. They do not apply to other bytes."""
WHO = ("provider", "model", "ptr")
"""The facts of a reply that an edited one keeps: who was asked. Its usage was paid for by the original."""


class EditedContent(Struct, frozen=True):
    """The checked content of an edit: one of three. ``blocks`` is a whole payload. ``text`` replaces the text of a
    turn, whose other blocks stay; ``data`` replaces the bytes of a document.
    """

    text: str | None = None
    blocks: bytes | None = None
    data: bytes | None = None


def read_wanted(content: Edit, *, json: bool) -> EditedContent:
    """Check and encode the content of an edit. Raises: InvalidContent and its subclasses."""
    if json:
        return EditedContent(blocks=encoding.encode_json(content))
    if isinstance(content, bytes):
        return EditedContent(data=content)
    if isinstance(content, str):
        strictjson.check(content, encoding.WHAT)
        return EditedContent(text=content)
    return EditedContent(blocks=encoding.encode_payload(encoding.read_content(content)))


def edited_draft(
    stored: StoredTurn,
    payload: bytes,
    wanted: EditedContent,
    continues: Sequence[Place],
    *,
    author: str | None,
    limit_bytes: int,
) -> Draft:
    """The draft of a turn that supersedes ``stored``: everything but the content stays.

    Its time is now, its author the one who edits, and it has no key. Raises: InvalidArgument, TooLarge.
    """
    new = _new_payload(stored, payload, wanted)
    if new == payload:
        raise InvalidArgument(f"turn {stored.id} says this already: there is nothing to edit")
    if len(new) > limit_bytes:
        raise TooLarge("content", len(new), limit_bytes)
    system: dict[str, Any] = {key: each for key, each in read_mapping(stored, "system").items() if key not in FACTS}
    system.pop("form", None)  # it describes the old blocks by position
    if wanted.blocks is not None:
        system.pop("format", None)  # blocks that a program gives are not in a transcript's own form
    if stored.type == DOCUMENT:
        size = {"file_size": len(new)} if "file_size" in system else {}
        system = {key: value for key, value in system.items() if key not in OF_THE_BYTES} | size
    if reply_of(system):
        system["reply"] = {key: value for key, value in system["reply"].items() if key in WHO} | {"edited": True}
    return _draft(stored, new, continues, system, Facts(author=author, supersedes=stored.id))


def copied_draft(
    stored: StoredTurn,
    payload: bytes,
    continues: Sequence[Place | int],
    *,
    author: str | None,
    is_version: bool = False,
    attributes: bytes | None = None,
) -> Draft:
    """The draft of a turn that repeats ``stored`` after other turns. It has no key, because a key names one turn, and
    no usage, because the original's was counted.

    ``is_version``: it also supersedes the original. ``attributes`` replace those of an overlay.
    """
    original = read_mapping(stored, "system")
    system: dict[str, Any] = {key: value for key, value in original.items() if key not in FACTS}
    if reply_of(system):
        system["reply"] = {key: value for key, value in system["reply"].items() if key != "usage"}
    said_at = said_of(original)
    # A copy keeps the time at which the original was said, or else stored: lists and searches by time go by it.
    facts = Facts(
        said_at=milliseconds_of(time_of(stored.id)) if said_at is None else said_at,
        author=author,
        supersedes=stored.id if is_version else None,
        copy_of=stored.id,
    )
    return _draft(stored, payload, continues, system, facts, attributes)


def text_blocks(blocks: Sequence[ContentBlock], turn_id: TurnId) -> tuple[int, int]:
    """The range of the text blocks of a turn: the index of the first, and the index after the last.

    Raises: InvalidArgument if it has other blocks but no text, or other blocks between two texts.
    """
    places = [index for index, block in enumerate(blocks) if isinstance(block, Text)]
    if not places and blocks:
        raise InvalidArgument(f"turn {turn_id} holds no text: give all of its blocks (--json-blocks, json=True)")
    low, high = (places[0], places[-1] + 1) if places else (0, 0)
    if high - low != len(places):
        raise InvalidArgument(
            f"turn {turn_id} holds several texts with other blocks between them: give all of its blocks (--json-blocks,"
            " json=True)"
        )
    return low, high


def _new_payload(stored: StoredTurn, payload: bytes, wanted: EditedContent) -> bytes:
    """The payload of the edited turn. Raises: InvalidArgument if the new content does not fit the turn."""
    if stored.type == DOCUMENT:
        if wanted.blocks is not None:
            raise InvalidArgument(f"turn {stored.id} is a document: give its bytes, or its text")
        return wanted.data if wanted.data is not None else (wanted.text or "").encode()
    if wanted.data is not None:
        raise InvalidArgument(f"turn {stored.id} is not a document: give text or blocks, not bytes")
    if wanted.blocks is not None:
        return wanted.blocks
    blocks = without_form(read_blocks(stored, payload))
    low, high = text_blocks(blocks, stored.id)
    return encoding.encode_payload((*blocks[:low], Text(wanted.text or ""), *blocks[high:]))


def _draft(
    stored: StoredTurn,
    payload: bytes,
    continues: Sequence[Place | int],
    system: Mapping[str, Any],
    facts: Facts,
    attributes: bytes | None = None,
) -> Draft:
    return Draft(
        payload=payload,
        said=replace(said_by(stored), hash=hash_payload(payload), attributes=attributes or stored.attributes),
        continues=tuple(continues),
        moves=False,  # the last draft of an edit moves the name, and only that one
        cache=bool(stored.cache),
        inherited=stored.inherited,
        system=strictjson.encode({**system, **facts.to_system()}),
        app=stored.app,
        facts=facts,
    )
