"""Decode stored rows into the values that callers get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from headish.content.encoding import DECODED_TOGETHER, decode_payload, decode_payloads
from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.errors import CorruptRecord, CorruptTurn, InvalidContent, TurnErased
from headish.rows.payloads import read_payload_at
from headish.rows.turns import StoredTurn, parent_at
from headish.values.blocks import Base64Source, ContentBlock, Document, Erased
from headish.values.caches import Cache, stored_cache
from headish.values.ids import TurnId
from headish.values.limits import LAST_MILLISECOND
from headish.values.messages import NO_ATTRIBUTES, Attributes, Message, ThreadRecord
from headish.values.names import stored_name
from headish.values.places import Place
from headish.values.turns import BLOCKS_TYPE, DOCUMENT, Meta, Turn

if TYPE_CHECKING:
    from headish.rows.threads.walks import Walked

_decode_mapping = msgspec.json.Decoder(dict[str, Any]).decode
Resolver = Callable[[TurnId], dict[str, Any]]


def make_turn(stored: StoredTurn, continues: Iterable[TurnId], resolve_options: Resolver) -> Turn:
    """Make the turn of a row; ``continues`` are the ids of its parents.

    Raises: CorruptTurn if the row does not decode.
    """
    meta = Meta(
        role=stored.role or None,
        type=stored.type,
        content_type=stored.content_type or BLOCKS_TYPE,
        bookmark=stored_name(stored.head) if stored.head else None,
        continues=tuple(continues),
        cache=read_cached(stored),
        attributes=read_attributes(stored),
        inherited={} if stored.inherited is None else read_mapping(stored, "inherited"),
        system={} if stored.system is None else read_mapping(stored, "system"),
        app={} if stored.app is None else read_mapping(stored, "app"),
    )
    if not isinstance(stored.id, str):  # checked here, because options are resolved by it much later
        raise CorruptTurn(f"{stored.chain}/{stored.pos}", "its id is not text")
    return Turn(
        id=stored.id,
        hash=stored.hash.hex(),
        digest=stored.digest.hex(),
        seal=stored.seal.hex(),
        meta=meta,
        resolve_options=resolve_options,
        erased=stored.erased,
    )


def complete_turns(
    connection: Connection,
    space: int,
    stored: Iterable[StoredTurn],
    resolve_options: Resolver,
    read: Mapping[Place, tuple[TurnId, ...]] | None = None,
) -> list[Turn]:
    """Make the turns of rows. ``read`` has the parents of some of them, if the caller has read those.

    Cost: one statement for each ``AT_ONCE`` turns whose parent is neither read nor among the rows.
    Raises: CorruptTurn if a turn that one of them continues is missing.
    """
    from headish.rows.threads.places import parents_of_turns  # late: an append knows the parents already

    listed = list(stored)
    ids = {(each.chain, each.pos): each.id for each in listed}
    # Inside a chain a turn continues the one before it, so most parents are among the rows and need no look-up.
    before = [ids.get((each.chain, each.pos - 1)) if each.pos else None for each in listed]
    parents_read = read or {}
    alone = [each.place for each, parent in zip(listed, before, strict=True) if parent is None]
    parents = {
        **parents_read,
        **parents_of_turns(connection, space, [place for place in alone if place not in parents_read]),
    }
    return [
        make_turn(
            each,
            whole_parents(each.id, parents.get(each.place, ())) if parent is None else (parent,),
            resolve_options,
        )
        for each, parent in zip(listed, before, strict=True)
    ]


def complete_turn(connection: Connection, space: int, stored: StoredTurn, resolve_options: Resolver) -> Turn:
    """Make the turn of a row. Cost: as ``continues_of``."""
    return make_turn(stored, continues_of(connection, space, stored), resolve_options)


def continues_of(connection: Connection, space: int, stored: StoredTurn) -> tuple[TurnId, ...]:
    """The ids that a turn continues, in order. Cost: one statement.

    Raises: CorruptTurn if one of them is missing.
    """
    if stored.pos:  # the most common case, and the cheapest look-up
        before = parent_at(connection, space, Place(stored.chain, stored.pos - 1))
        return whole_parents(stored.id, (None if before is None else before.id,))
    from headish.rows.threads.places import parents_of_turns

    return whole_parents(stored.id, parents_of_turns(connection, space, [stored.place]).get(stored.place, ()))


def _mark_of(connection: Connection, space: int, erasure: int) -> Erased | None:
    """The mark that takes the place of erased content, by the number of the erasure; None without its receipt."""
    from headish.rows.upkeep.receipts import marks_of  # late: few turns are erased

    return marks_of(connection, space, [erasure]).get(erasure)


def read_payload(connection: Connection, space: int, stored: StoredTurn) -> bytes:
    """The payload bytes of a turn, checked against its hash.

    Raises: TurnErased, CorruptTurn.
    """
    if stored.erased is not None:
        mark = _mark_of(connection, space, stored.erased)
        raise TurnErased(stored.id, stored.erased, "erased" if mark is None else str(mark))
    return check_payload(stored, read_payload_at(connection, space, stored.place))


def check_payload(stored: StoredTurn, payload: bytes | None) -> bytes:
    """The payload of a turn, if it is the one that was stored. Raises: CorruptTurn."""
    if payload is None:
        raise CorruptTurn(stored.id, "its payload is missing")
    if hash_payload(payload) != stored.hash:
        raise CorruptTurn(stored.id, "its payload disagrees with its hash")
    return payload


def read_shown(connection: Connection, space: int, stored: StoredTurn) -> tuple[ContentBlock, ...]:
    """The content blocks as a walk shows them: the mark of its erasure if the turn was erased.

    Raises: CorruptTurn.
    """
    if stored.erased is not None and (mark := _mark_of(connection, space, stored.erased)):
        return (mark,)
    return read_blocks(stored, read_payload(connection, space, stored))


def read_blocks(stored: StoredTurn | Walked, payload: bytes | Erased) -> tuple[ContentBlock, ...]:
    """The content blocks of a turn: decoded from its JSON, or one document block for the raw bytes of a document. An
    erased payload becomes the mark of its erasure.

    Raises: CorruptTurn if the payload does not decode.
    """
    if isinstance(payload, Erased):
        return (payload,)
    if stored.type == DOCUMENT:
        return (_document(stored, payload),)
    try:
        return decode_payload(payload)
    except InvalidContent as error:
        raise CorruptTurn(stored.id, str(error)) from None


def read_all_blocks(turns: Sequence[Walked]) -> list[tuple[ContentBlock, ...]]:
    """``read_blocks`` for many turns, faster: portions decode together.

    Raises: CorruptTurn.
    """
    blocks: list[tuple[ContentBlock, ...]] = []
    for start in range(0, len(turns), DECODED_TOGETHER):
        portion = turns[start : start + DECODED_TOGETHER]
        # ``type(…) is`` because ``isinstance`` takes five times as long for a struct such as ``Erased``.
        texts = [turn.payload for turn in portion if not turn.type and type(turn.payload) is bytes]
        plain = decode_payloads(texts) if len(texts) == len(portion) else None
        blocks += [read_blocks(turn, turn.payload) for turn in portion] if plain is None else plain
    return blocks


def read_messages(turns: Sequence[Walked], contents: Sequence[tuple[ContentBlock, ...]]) -> list[Message]:
    """Make messages of walked turns and their contents. Raises: CorruptTurn."""
    return [
        Message(
            role=turn.role or None,
            content=content,
            cache=False if not turn.cache else read_cached(turn),  # saves the call for most turns
            attributes=NO_ATTRIBUTES if turn.attributes is None else read_attributes(turn),
            turn=turn.id,
        )
        for turn, content in zip(turns, contents, strict=True)
    ]


def thread_records(walked: Sequence[Walked]) -> list[ThreadRecord]:
    """The schema reference's thread records, in walk order."""
    return [
        ThreadRecord(
            id=turn.id,
            role=turn.role or None,
            content=read_blocks(turn, turn.payload),
            inherited=read_mapping(turn, "inherited"),
            cache=read_cached(turn),
        )
        for turn in walked
    ]


def read_attributes(stored: StoredTurn | Walked) -> Attributes:
    """The transcript attributes of a turn. Raises: CorruptTurn."""
    if stored.attributes is None:
        return NO_ATTRIBUTES
    try:
        return msgspec.json.decode(stored.attributes, type=Attributes)
    except msgspec.MsgspecError as error:
        raise CorruptTurn(stored.id, f"its attributes do not decode ({error})") from None


def read_cached(stored: StoredTurn | Walked) -> Cache:
    """The cache flag of a turn. Raises: CorruptTurn."""
    return bool(stored.cache) and stored_cache(stored.cache, read_mapping(stored, "system"))


def read_mapping(stored: StoredTurn | Walked, column: str) -> Mapping[str, Any]:
    """A decoded JSON column, empty if nothing was stored. Raises: CorruptTurn."""
    encoded: bytes | None = getattr(stored, column)
    return {} if encoded is None else decode_mapping(encoded, stored.id, column)


def decode_mapping(encoded: bytes, turn_id: str, column: str) -> dict[str, Any]:
    """Decode a stored JSON object; ``turn_id`` and ``column`` name it in the error.

    Raises: CorruptTurn.
    """
    try:
        return _decode_mapping(encoded)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(turn_id, f"its {column} does not decode ({error})") from None


def mapping_in(encoded: bytes | None) -> dict[str, Any]:
    """A stored JSON object; empty if there is none, or if it does not decode, which ``verify`` reports."""
    try:
        return {} if encoded is None else _decode_mapping(encoded)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def read_time(milliseconds: int, what: str) -> datetime:
    """Convert a stored time to UTC; ``what`` names its row in the error.

    Raises: CorruptRecord.
    """
    if not is_time(milliseconds):
        raise CorruptRecord(what, f"its time is {milliseconds!r}")
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def is_time(milliseconds: object) -> bool:
    """Whether the value is a number of Unix milliseconds in the years 1970 to 9999."""
    return isinstance(milliseconds, int) and 0 <= milliseconds <= LAST_MILLISECOND


def whole_parents(turn_id: TurnId, parents: Iterable[TurnId | None]) -> tuple[TurnId, ...]:
    """The parents as a tuple. Raises: CorruptTurn if one of them is missing (None)."""
    ids = tuple(parents)
    if None in ids:
        raise CorruptTurn(turn_id, "a turn that it continues is missing")
    return tuple(parent for parent in ids if parent is not None)


def _document(stored: StoredTurn | Walked, payload: bytes) -> Document:
    from base64 import b64encode  # late: few turns are documents

    source = Base64Source(stored.content_type or BLOCKS_TYPE, b64encode(payload).decode())
    name = read_mapping(stored, "system").get("document_name")
    return Document(source, name if isinstance(name, str) else None)
