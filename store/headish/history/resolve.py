"""Resolve: from walked turns to a context window. Pure: it reads only the rows that it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.content import strictjson
from headish.content.merge import fold
from headish.content.unfinished import without_partial
from headish.history.decode import decode_mapping, read_all_blocks, read_attributes, read_blocks, read_mapping
from headish.rows.walks import Walked
from headish.values.blocks import ContentBlock, Erased
from headish.values.ids import TurnId
from headish.values.messages import NO_ATTRIBUTES, ContextWindow, Kept, Message, Note, ThreadRecord
from headish.values.turns import cut_off, reply_of


def resolve_window(walked: Sequence[Walked]) -> ContextWindow:
    """The context window of a walk: one message per turn, and the options of all, merged in walk order (rule I8,
    options merge).

    Blocks of an answer that were cut off are left out, with a note (rule R21, cut-off calls); so are messages that were
    erased.
    Raises: CorruptTurn if a row does not decode.
    """
    present, notes = list(walked), list[Note]()
    if any(isinstance(turn.payload, Erased) for turn in walked):
        present = [turn for turn in walked if not isinstance(turn.payload, Erased)]
        notes = [
            Note(f"a message that was {turn.payload} is left out", turn.id)
            for turn in walked
            if isinstance(turn.payload, Erased)
        ]
    messages = list(map(_read_message, present, read_all_blocks(present)))
    return without_partial(ContextWindow(tuple(messages), resolve_options(walked), tuple(notes)))


def resolve_options(walked: Sequence[Walked]) -> dict[str, Any]:
    """The options that the turns of a walk hand down, merged in walk order (rule I8, options merge)."""
    return fold_options((turn.id, turn.inherited) for turn in walked if turn.inherited)


def kept_thread(walked: Sequence[Walked]) -> list[Kept]:
    """The messages of a walk with headish's own keys beside them: what a transcript is written from.

    An answer that was cut off is a message without its end (``stop`` ``none``), as a transcript says it.
    """
    return list(map(_kept, walked, read_all_blocks(walked)))


def _kept(turn: Walked, content: tuple[ContentBlock, ...]) -> Kept:
    message, system = _read_message(turn, content), read_mapping(turn, "system")
    if message.attributes.stop is None and cut_off(reply_of(system), message.attributes):
        message = replace(message, attributes=replace(message.attributes, stop="none"))
    return Kept(message, system)


def _read_message(turn: Walked, content: tuple[ContentBlock, ...]) -> Message:
    return Message(
        role=turn.role or None,
        content=content,
        cache=bool(turn.cache),
        attributes=NO_ATTRIBUTES if turn.attributes is None else read_attributes(turn),
        turn=turn.id,
    )


def fold_options(inherited: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    """The options that ``(turn id, inherited)`` pairs hand down, merged in order."""
    return fold(decode_mapping(encoded, turn_id, "inherited") for turn_id, encoded in inherited)


def option_origins(walked: Sequence[Walked]) -> dict[str, TurnId]:
    """Which turn set each option that a walk hands down: by path (``params.max_tokens``), in walk order.

    A key that holds a dot, a quote or nothing stands in a path as the JSON text of itself (``"a.b".c``), so that no two
    options have one path.
    """
    origins: dict[str, TurnId] = {}
    for turn in walked:
        if turn.inherited:
            _note_origins(origins, decode_mapping(turn.inherited, turn.id, "inherited"), "", turn.id)
    return origins


def _note_origins(origins: dict[str, TurnId], patch: Mapping[str, Any], prefix: str, turn_id: TurnId) -> None:
    """As in a merge patch (RFC 7396): a record merges key by key, any other value replaces all that was below."""
    for key, value in patch.items():
        path = f"{prefix}{_as_step(key)}"
        if isinstance(value, Mapping):
            origins.pop(path, None)
            _note_origins(origins, value, f"{path}.", turn_id)
            continue
        for below in [each for each in origins if each == path or each.startswith(f"{path}.")]:
            del origins[below]
        if value is not None:
            origins[path] = turn_id


def _as_step(key: str) -> str:
    """A key as a step of a path; quoted where it could be taken for more than one."""
    return strictjson.encode(key).decode() if not key or "." in key or '"' in key else key


def thread_records(walked: Sequence[Walked]) -> list[ThreadRecord]:
    """The schema reference's thread records, in walk order."""
    return [
        ThreadRecord(
            id=turn.id,
            role=turn.role or None,
            content=read_blocks(turn, turn.payload),
            inherited=read_mapping(turn, "inherited"),
            cache=bool(turn.cache),
        )
        for turn in walked
    ]
