"""The drafts of an edit: the turn that replaces another, and the copies that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from headish.content import encoding, strictjson
from headish.content.drafts import Draft
from headish.content.encoding import Content
from headish.content.facts import Facts
from headish.content.forms.parts import without_form
from headish.content.hashes import DigestFields, hash_payload
from headish.errors import InvalidArgument, TooLarge
from headish.history.reading.decode import read_blocks, read_mapping
from headish.rows.turns import StoredTurn
from headish.values.blocks import ContentBlock, Text
from headish.values.ids import TurnId, time_of
from headish.values.places import Place
from headish.values.times import milliseconds_of
from headish.values.turns import BLOCKS_TYPE, DOCUMENT, reply_of, said_of

Edit = Content | bytes
"""What is to be said instead: a text, blocks, or the bytes of a document."""
FACTS = frozenset(Facts.__struct_fields__)
"""What a turn says of itself alone: nothing of it holds for another turn."""
OF_THE_BYTES = frozenset(("original_path", "file_size"))
"""What headish keeps of the very bytes of a document."""
WHO = ("provider", "model", "ptr")
"""What is kept of a reply whose words were changed: who was asked."""


class EditedContent(Struct, frozen=True):
    """What an edit was given. ``blocks`` is the payload where it was blocks; ``text`` and ``data`` wait for the turn.

    A text takes the place of the text of a turn, whose other blocks stay.
    """

    text: str | None = None
    blocks: bytes | None = None
    data: bytes | None = None


def read_wanted(content: Edit, *, json: bool) -> EditedContent:
    """Check and encode what an edit is given. Raises: InvalidContent in its kinds."""
    if json:
        return EditedContent(blocks=encoding.encode_json(content))
    if isinstance(content, bytes):
        return EditedContent(data=content)
    if isinstance(content, str):
        strictjson.check_text(content, encoding.WHAT)
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
    """The draft of the turn that supersedes another: what is not edited stays as it was.

    It is said now, by whoever edits, and has no key. Raises: InvalidArgument, TooLarge.
    """
    new = _new_payload(stored, payload, wanted)
    if new == payload:
        raise InvalidArgument(f"turn {stored.id} says this already: there is nothing to edit")
    if len(new) > limit_bytes:
        raise TooLarge("content", len(new), limit_bytes)
    system: dict[str, Any] = {key: each for key, each in read_mapping(stored, "system").items() if key not in FACTS}
    system.pop("form", None)  # how the old words were written: it counts their blocks
    if wanted.blocks is not None:
        system.pop("format", None)  # blocks that a program gives are in no transcript's own form
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
    """The draft of a turn that repeats another behind other turns. It has no key, and its tokens were counted once.

    ``is_version``: it takes the other's place, too. ``attributes`` are those of an overlay.
    """
    kept = read_mapping(stored, "system")
    system: dict[str, Any] = {key: value for key, value in kept.items() if key not in FACTS}
    if reply_of(system):
        system["reply"] = {key: value for key, value in system["reply"].items() if key != "usage"}
    said_at = said_of(kept)
    facts = Facts(
        said_at=milliseconds_of(time_of(stored.id)) if said_at is None else said_at,
        author=author,
        supersedes=stored.id if is_version else None,
        copy_of=stored.id,
    )
    return _draft(stored, payload, continues, system, facts, attributes)


def said_of_turn(stored: StoredTurn, hash: bytes, attributes: bytes | None = None) -> DigestFields:
    """What a stored turn says, with other bytes."""
    return DigestFields(
        role=stored.role,
        hash=hash,
        type=stored.type,
        content_type=stored.content_type or BLOCKS_TYPE,
        document_name=read_mapping(stored, "system").get("document_name") if stored.type is not None else None,
        attributes=attributes or stored.attributes,
    )


def text_blocks(blocks: Sequence[ContentBlock], turn_id: TurnId) -> tuple[int, int]:
    """The range of blocks that hold the text of a turn: the index of the first, and the index behind the last.

    Raises: InvalidArgument where there is none beside other blocks, or other blocks stand between two texts.
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
    """Raises: InvalidArgument where what was given does not fit the turn."""
    if stored.type == DOCUMENT:
        if wanted.blocks is not None:
            raise InvalidArgument(f"turn {stored.id} is a document: give its bytes, or its text")
        return wanted.data if wanted.data is not None else (wanted.text or "").encode()
    if wanted.data is not None:
        raise InvalidArgument(f"turn {stored.id} is no document: give text or blocks, not bytes")
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
        said=said_of_turn(stored, hash_payload(payload), attributes),
        continues=tuple(continues),
        moves=False,
        cache=bool(stored.cache),
        inherited=stored.inherited,
        system=strictjson.encode({**system, **facts.to_system()}),
        app=stored.app,
        facts=facts,
    )
