"""Choose the turns that a new overlay covers: a range of a thread, each call together with its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from headish.content.forms.parts import without_form
from headish.errors import InvalidArgument
from headish.history.windows.states import KEEP, ORIGINAL, REPLACE, SUMMARIZE, UNHIDE
from headish.history.windows.view import SeenThread, replaced
from headish.providers.shared.ledger import pair_calls
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.ids import TurnId
from headish.values.limits import COVERED_LIMIT
from headish.values.messages import Message

INSTRUCTING = ("system", "developer")
"""The roles whose turns no summary covers: the model must keep its instructions."""


def cover(thread: SeenThread, does: str, first: TurnId, last: TurnId) -> list[int]:
    """The indexes of the turns that an overlay from ``first`` to ``last`` (inclusive) covers, in walk order.

    A call and its results are covered together, even outside the range. Overlays are not covered. Naming a single
    overlay to undo it means the turns that it covers.
    Raises: InvalidArgument if a turn is not in the thread, if nothing is left to cover, or if it is too much.
    """
    low, high = _index(thread, first), _index(thread, last)
    if low > high:
        raise InvalidArgument(f"turn {first} comes after turn {last}: name the first of them first")
    # A turn without a state is an overlay. Naming it means to undo it, so the turns that it covers are meant.
    if low == high and does in (UNHIDE, ORIGINAL) and thread.states[low] is None:
        return _covered_by(thread, low)
    chosen = {
        index
        for index in range(low, high + 1)
        if thread.states[index] is not None and not (does == SUMMARIZE and thread.messages[index].role in INSTRUCTING)
    }
    # A replacement changes words only, and calls stay in place; everything else must not part a call from its result.
    if does != REPLACE:
        chosen = _with_partners(thread, chosen)
    if not chosen:
        raise InvalidArgument(_NOTHING_LEFT.get(does, f"there is nothing to {does} there: overlays are not covered"))
    return _within(chosen)


def cover_those(thread: SeenThread, among: Sequence[TurnId]) -> list[int]:
    """The indexes of the turns ``among``, with the calls and results that belong to them. An overlay's id means the
    turns that it covers.

    Raises: InvalidArgument if one is not in the thread, or if they are too many.
    """
    wanted = set(among)
    chosen = {
        index
        for index, state in enumerate(thread.states)
        if state is not None and (thread.walked[index].id in wanted or state.by in wanted)
    }
    missing = wanted - {turn.id for turn in thread.walked}
    if missing or not chosen:
        raise InvalidArgument(f"the branch no longer holds turn {min(missing or wanted)}: it changed meanwhile")
    return _within(_with_partners(thread, chosen))


def digests(thread: SeenThread, indexes: Iterable[int]) -> tuple[str, ...]:
    """The digests of turns, each once: equal turns of merged branches have the same digest."""
    return tuple(dict.fromkeys(thread.walked[index].digest.hex() for index in indexes))


def put_in_place(message: Message, given: str | tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
    """The blocks that replace those of a message.

    Text replaces its text and documents, or the content of its only result; reasoning, calls and results stay. Blocks
    replace everything, and must contain the same calls and results.
    Raises: InvalidArgument if a call or a result would be lost.
    """
    if not isinstance(given, str):
        if _paired(given) != _paired(message.content):
            raise InvalidArgument(f"turn {message.turn} holds calls or results: what replaces it must hold the same")
        return given
    message = replace(message, content=without_form(message.content))
    results = [block for block in message.content if isinstance(block, ToolResult)]
    has_text = any(isinstance(block, Text) for block in message.content)
    if results and not has_text:
        if len(results) > 1:
            raise InvalidArgument(f"turn {message.turn} holds {len(results)} results: give blocks, not text")
        [result] = results
        return tuple(_with_text(result, given) if block is result else block for block in message.content)
    stays = [isinstance(block, _STAYING) for block in message.content]
    # In the place of the first text; else before the first call, and after the reasoning that led to it.
    calls = (at for at, block in enumerate(message.content) if isinstance(block, ToolUse))
    at = stays.index(False) if False in stays else next(calls, len(stays))
    before = [block for block, stay in zip(message.content[:at], stays[:at], strict=True) if stay]
    behind = [block for block, stay in zip(message.content[at:], stays[at:], strict=True) if stay]
    return (*before, Text(given), *behind)


def read_covered(thread: SeenThread, indexes: Sequence[int]) -> list[Message]:
    """The messages of the covered turns as a model sees them now, as input for a summary: with replaced words, without
    hidden turns, and each earlier summary once."""
    messages: list[Message] = []
    summaries = set()
    for index in indexes:
        state = thread.states[index]
        if state is None or state.model:
            continue
        if state.summarized and state.by is not None:
            if state.by not in summaries:
                summaries.add(state.by)
                messages.append(Message(role="user", content=thread.messages[thread.overlays[state.by][0]].content))
        else:
            messages.append(replaced(thread, index))
    return messages


def _within(chosen: set[int]) -> list[int]:
    if len(chosen) > COVERED_LIMIT:
        raise InvalidArgument(f"an overlay covers at most {COVERED_LIMIT:,} turns, not {len(chosen):,}: lay several")
    return sorted(chosen)


def _index(thread: SeenThread, turn_id: TurnId) -> int:
    for index, turn in enumerate(thread.walked):
        if turn.id == turn_id:
            return index
    tip = thread.walked[-1].id
    raise InvalidArgument(
        f"the branch that ends at turn {tip} does not hold all that is to be covered: -c names another"
    )


def _covered_by(thread: SeenThread, at: int) -> list[int]:
    _, overlay = thread.overlays[thread.walked[at].id]
    covers = set(overlay.covers)
    indexes = [index for index, turn in enumerate(thread.walked) if turn.digest.hex() in covers]
    return [index for index in indexes if thread.states[index] is not None]


def _with_partners(thread: SeenThread, chosen: set[int]) -> set[int]:
    """Add the turns with the calls of chosen results, and the results of chosen calls, until no pair is parted."""
    partners: dict[int, set[int]] = {}
    for (index, _), (call, _) in pair_calls(thread.messages).items():
        partners.setdefault(index, set()).add(call)
        partners.setdefault(call, set()).add(index)
    waiting = [index for index in chosen if index in partners]
    while waiting:
        for partner in partners[waiting.pop()] - chosen:
            chosen.add(partner)
            waiting.append(partner)
    return chosen


def _paired(content: Iterable[ContentBlock]) -> list[tuple[str, str | None, str | None]]:
    return sorted(
        (
            ("call", block.id, block.name) if isinstance(block, ToolUse) else ("result", block.tool_use_id, block.name)
            for block in content
            if isinstance(block, ToolUse | ToolResult)
        ),
        # None and text do not compare. As text they do, and any order will do to compare two lists.
        key=str,
    )


def _with_text(result: ToolResult, text: str) -> ToolResult:
    return ToolResult(tool_use_id=result.tool_use_id, name=result.name, content=(Text(text),), is_error=result.is_error)


_STAYING = (Thinking, ToolUse, ToolResult, ProviderBlock)
"""The blocks that stay when text replaces a turn's words."""
_NOTHING_LEFT = {
    SUMMARIZE: "there is nothing to sum up there: overlays and instructions are not covered",
    KEEP: "there is nothing to keep there: overlays are not covered",
}
