"""Resolve: from walked turns to a context window. Pure: it reads only the rows that it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from headish.content import strictjson
from headish.content.merge import fold
from headish.content.unfinished import without_partial
from headish.history.reading.decode import (
    decode_mapping,
    read_all_blocks,
    read_attributes,
    read_blocks,
    read_cached,
    read_mapping,
)
from headish.rows.threads.walks import Walked
from headish.values.blocks import ContentBlock, Erased, erased_in
from headish.values.ids import TurnId
from headish.values.messages import NO_ATTRIBUTES, ContextWindow, Kept, Message, Note, ThreadRecord
from headish.values.turns import OVERLAY, cut_off, reply_of

if TYPE_CHECKING:
    from headish.history.overlays.view import Seen


def resolve_window(walked: Sequence[Walked], *, raw: bool = False) -> ContextWindow:
    """The context window of a walk: one message per turn, and the options of all, merged in walk order (rule I8,
    options merge).

    Overlays and hidden turns have their effect, with a note each (rule R34, overlays); ``raw`` shows every turn as it
    was stored. Blocks of an answer that were cut off are left out, with a note (rule R21, cut-off calls); so are
    messages that were erased.
    Raises: CorruptTurn if a row does not decode.
    """
    return see_window(walked, raw=raw)[0]


def see_window(walked: Sequence[Walked], *, raw: bool = False) -> tuple[ContextWindow, list[Seen] | None]:
    """``resolve_window``, and what each of its messages stands for; None where each turn is a message."""
    contents = read_all_blocks(walked)
    is_marked = is_overlaid(walked)
    if not is_marked and not any(isinstance(turn.payload, Erased) for turn in walked):
        messages = tuple(map(read_message, walked, contents))
        return without_partial(ContextWindow(messages, resolve_options(walked))), None
    from headish.history.overlays.view import View, see, see_originals  # late: few threads need it

    view = see(walked, contents) if is_marked and not raw else View(see_originals(walked, contents), [])
    seen = [each for each in view.seen if erased_in(each.message.content) is None]
    notes = (*view.notes, *_erased_notes(view.seen))
    messages = tuple(each.message for each in seen)
    return without_partial(ContextWindow(messages, resolve_options(walked), notes)), seen


def _erased_notes(seen: Iterable[Seen]) -> Iterator[Note]:
    """What is said of each message that would be seen, had it not been erased. An erased overlay goes on hiding."""
    for message in (each.message for each in seen):
        mark = erased_in(message.content)
        if mark is not None:
            yield Note(f"a message that was {mark} is left out", message.turn)


def is_overlaid(walked: Sequence[Walked]) -> bool:
    """Whether a walk holds an overlay, or a turn that is stored hidden. All that a thread without them pays."""
    # A plain loop: every turn of every resolve passes here.
    for turn in walked:
        if turn.type == OVERLAY or (turn.attributes is not None and b'"hidden":' in turn.attributes):
            return True
    return False


def resolve_options(walked: Sequence[Walked]) -> dict[str, Any]:
    """The options that the turns of a walk hand down, merged in walk order (rule I8, options merge)."""
    return fold_options((turn.id, turn.inherited) for turn in walked if turn.inherited)


def kept_thread(walked: Sequence[Walked], *, raw: bool = False, for_people: bool = False) -> list[Kept]:
    """The messages of a walk with headish's own keys beside them: what a transcript is written from.

    An answer that was cut off is a message without its end (``stop`` ``none``), as a transcript says it. Of a thread
    with overlays it is what a model sees, or with ``for_people`` what people see; ``raw`` shows every turn as it was
    stored.
    """
    contents = read_all_blocks(walked)
    if is_overlaid(walked):
        from headish.history.overlays.kept import see_kept  # late, as above

        return [as_ended(each) for each in see_kept(walked, contents, raw=raw, for_people=for_people)]
    return [
        as_ended(Kept(read_message(turn, content), read_mapping(turn, "system")))
        for turn, content in zip(walked, contents, strict=True)
    ]


def as_ended(kept: Kept) -> Kept:
    """A message that was cut off without its end."""
    message, system = kept
    if message.attributes.stop is None and cut_off(reply_of(system), message.attributes):
        message = replace(message, attributes=replace(message.attributes, stop="none"))
    return Kept(message, system)


def read_message(turn: Walked, content: tuple[ContentBlock, ...]) -> Message:
    """A walked turn as a message of its own."""
    return Message(
        role=turn.role or None,
        content=content,
        cache=read_cached(turn),
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
            cache=read_cached(turn),
        )
        for turn in walked
    ]
