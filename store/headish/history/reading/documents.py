"""Documents that messages refer to: turns of the same space, which are read when a message leaves the store."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable

from msgspec.structs import replace

from headish.content.encoding import decode_payload
from headish.database.query import Connection
from headish.errors import InvalidContent
from headish.history.reading.decode import read_mapping, read_payload
from headish.rows.turns import turn_by_id
from headish.values.blocks import Base64Source, ContentBlock, Document, ToolResult, TurnSource
from headish.values.ids import TurnId, as_turn_id
from headish.values.messages import Message
from headish.values.turns import DOCUMENT


def with_documents(connection: Connection, space: int, messages: Iterable[Message]) -> tuple[Message, ...]:
    """Put the bytes of document turns in place of references to them.

    Cost: nothing for messages without such a reference; two statements for each reference.
    Raises: InvalidContent if a reference does not name a document of the space; CorruptTurn.
    """
    return tuple(
        replace(message, content=tuple(_filled(connection, space, block) for block in message.content))
        if any(map(_refers, message.content))
        else message
        for message in messages
    )


def refer(messages: Iterable[Message]) -> bool:
    """Whether a message refers to a document turn."""
    return any(_refers(block) for message in messages for block in message.content)


def referred_by(payload: bytes) -> list[TurnId]:
    """The document turns that a stored payload of blocks refers to; none if it does not decode."""
    # Nearly no payload refers to a turn; this saves decoding the others.
    if b'"turn"' not in payload:
        return []
    try:
        blocks = list(decode_payload(payload))
    except InvalidContent:
        return []  # ``verify`` reports it
    for block in blocks:
        if isinstance(block, ToolResult):
            blocks.extend(block.content)
    sources = [block.source for block in blocks if isinstance(block, Document) and isinstance(block.source, TurnSource)]
    return [id for source in sources if (id := as_turn_id(source.turn)) is not None]


def _refers(block: ContentBlock) -> bool:
    if isinstance(block, ToolResult):
        return any(map(_refers, block.content))
    return isinstance(block, Document) and isinstance(block.source, TurnSource)


def _filled(connection: Connection, space: int, block: ContentBlock) -> ContentBlock:
    if isinstance(block, ToolResult):
        return replace(block, content=tuple(_filled(connection, space, inner) for inner in block.content))
    if not isinstance(block, Document) or not isinstance(block.source, TurnSource):
        return block
    reference = block.source.turn
    id = as_turn_id(reference)
    turn = None if id is None else turn_by_id(connection, space, id)
    if turn is None or turn.type != DOCUMENT:
        raise InvalidContent("a document", f"no document of the space is the turn {reference[:80]!r}")
    media_type = block.source.media_type or turn.content_type or ""
    name = block.name or read_mapping(turn, "system").get("document_name")
    source = Base64Source(media_type, b64encode(read_payload(connection, space, turn)).decode())
    return replace(block, source=source, name=name if isinstance(name, str) else None)
