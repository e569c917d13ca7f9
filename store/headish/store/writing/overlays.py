"""Verbs that change how readers see a thread, and destroy nothing: overlays and compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from headish.content.encoding import Content, read_content
from headish.database.query import Connection
from headish.errors import CallError, InvalidArgument, InvalidReply, SummaryFailed
from headish.history.definitions import find_pointer
from headish.history.overlays.covering import put_in_place, read_covered
from headish.history.overlays.laying import Blocks, Covering, OverlayPlan, Write, find_covered, lay
from headish.history.reading.options import param_of
from headish.history.windows.states import HIDE, KEEP, ORIGINAL, REPLACE, SUMMARIZE, UNHIDE
from headish.history.windows.view import SeenThread
from headish.store.call_options import CallOptions
from headish.store.reading.tokens import Count, measure_thread, room_for_request
from headish.store.space import Space
from headish.values.blocks import Text
from headish.values.checks.doors import POSITIVE, Kind, door
from headish.values.grammar import parse_headish
from headish.values.messages import VIEWERS, Note
from headish.values.names import check_name
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.providers.pointers import Pointer

COMPACT_TO = 0.4
"""The share of a thread that is left when it is compacted."""
SIZE = Kind(
    lambda value: (
        not isinstance(value, bool)
        and ((isinstance(value, float) and 0 < value < 1) or (isinstance(value, int) and 1 <= value < 2**63))
    ),
    "a share between 0 and 1, or a number of tokens",
)
VIEWER = Kind(lambda value: isinstance(value, str) and value in VIEWERS, "model, people or both")


@door(CallOptions, attempts=POSITIVE)
def summarize(
    space: Space,
    first: str,
    last: str | None = None,
    content: Content | None = None,
    *,
    ptr: str | None = None,
    continues: str | None = None,
    expect: Any = None,
    **call: Unpack[CallOptions],
) -> Turn:
    """Show a model a summary in place of the turns from ``first`` to ``last``, both included: an overlay.

    A model sees ``content`` in place of the first of them, as a message of the user's; people see the original words,
    marked as summarized. ``original`` undoes it. Instructions in between stay. Calls are covered with their results.
    Without content, headish asks the model of the pointer ``ptr`` for it; ``call`` is as for ``ask``.

    The overlay is a turn of type ``overlay`` that continues ``continues``; without it, the bookmark that ``last``
    begins with (``main`` of ``main~3``), or else the only branch that has the turn. It applies from there on, to no
    other branch. If the same words already replace the same turns, their overlay is returned. ``expect`` is as in
    ``add_turn``.
    Cost: that of resolving the branch, and of an append.
    Raises: as ``add_turn``; InvalidArgument if a turn is not of the branch, or nothing is left to cover; as ``ask`` and
    SummaryFailed where a model is asked. Nothing is stored then.
    """
    wanted = _wanted(space, SUMMARIZE, first, last, continues, expect)
    if (content is None) == (ptr is None):
        raise InvalidArgument("a summary is given as content, or asked of a pointer: give one of them")
    if ptr is None:
        return _lay_words(space, wanted, _always(_read_blocks(content)))
    return _ask_and_lay(space, wanted, ptr, call)


@door(viewer=VIEWER)
def hide(
    space: Space,
    first: str,
    last: str | None = None,
    *,
    viewer: str = "both",
    continues: str | None = None,
    expect: Any = None,
) -> Turn | None:
    """Hide the turns from ``first`` to ``last``, both included, from the model, from people, or from both: an overlay.

    Calls are hidden with their results. Returns None if they are hidden like this already. The rest is as in
    ``summarize``.
    """
    return _lay(space, _wanted(space, HIDE, first, last, continues, expect)._replace(viewer=viewer), _nothing)


@door()
def replace(space: Space, headish: str, content: Content, *, continues: str | None = None, expect: Any = None) -> Turn:
    """Show other words in place of a turn's, to the model and to people: an overlay.

    A text takes the place of the turn's text and documents, or of what its only result says; reasoning, calls and
    results stay. A list of blocks takes the place of all of it, and must contain the same calls and results. The role
    and the attributes stay. The rest is as in ``summarize``.
    """
    wanted = _wanted(space, REPLACE, headish, None, continues, expect)
    blocks = _read_blocks(content)
    new = content if isinstance(content, str) else blocks

    def write(thread: SeenThread, indexes: list[int]) -> Blocks:
        return put_in_place(thread.messages[indexes[0]], new)

    return _lay_words(space, wanted, write)


@door()
def keep(
    space: Space, first: str, last: str | None = None, *, continues: str | None = None, expect: Any = None
) -> Turn | None:
    """Keep the turns from ``first`` to ``last``, both included, in every budget: an overlay.

    Calls are kept with their results. Returns None if every budget keeps them already. The rest is as in ``summarize``.
    """
    return _lay(space, _wanted(space, KEEP, first, last, continues, expect), _nothing)


@door()
def unhide(
    space: Space, first: str, last: str | None = None, *, continues: str | None = None, expect: Any = None
) -> Turn | None:
    """Show hidden turns again, even those that are stored hidden: an overlay. Summaries and replacements stay.

    ``first`` may be an overlay, which stands for the turns that it covers. Returns None if none of them is hidden. The
    rest is as in ``summarize``.
    """
    return _lay(space, _wanted(space, UNHIDE, first, last, continues, expect), _nothing)


@door()
def original(
    space: Space, first: str, last: str | None = None, *, continues: str | None = None, expect: Any = None
) -> Turn | None:
    """Show turns to everybody as they were said, whatever overlays cover them: an overlay. It also ends ``keep``.

    ``first`` may be an overlay, which stands for the turns that it covers. Returns None if they are seen like this
    already. The rest is as in ``summarize``.
    """
    return _lay(space, _wanted(space, ORIGINAL, first, last, continues, expect), _nothing)


@door(CallOptions, attempts=POSITIVE, to=SIZE, over=SIZE)
def compact(
    space: Space,
    headish: str = "@",
    *,
    to: float | int = COMPACT_TO,
    over: float | int | None = None,
    ptr: str | None = None,
    count: Count | None = None,
    warn: Callable[[Note], object] | None = None,
    expect: Any = None,
    **call: Unpack[CallOptions],
) -> Turn | None:
    """Compact a branch to a size: an overlay covers its oldest part. Returns None if there is nothing to cover.

    ``to`` is a share of the branch's tokens now (0.4), or a number of tokens. Instructions, kept turns and the first
    exchange stay as they are, and the tail from the last question on. With ``ptr`` the model of that pointer sums the
    rest up; without it, or if no summary comes, it is hidden from the model, and ``warn`` gets a note. People see all
    of it anyway. ``over``: only if the branch has more tokens than that, or than that share of the context window of
    the thread's pointer.
    Raises: as ``summarize`` and ``tokens``; InvalidArgument for a share of an unknown context window.
    """
    from headish.history.budgets.compacting import choose
    from headish.history.budgets.cutting import weigh

    space._check_writable()
    measured, pointer = measure_thread(space, headish, count=count)
    total = weigh(measured.weights).total
    if over is not None and total <= _limit_of(over, pointer):
        return None
    covered = choose(measured, to * total if isinstance(to, float) else to, summarizes=ptr is not None)
    if not covered:
        return None
    wanted = _wanted(space, SUMMARIZE, covered[0], covered[-1], headish, expect)._replace(among=tuple(covered))
    if ptr is not None:
        try:
            return _ask_and_lay(space, wanted, ptr, call)
        # The branch must get smaller even if the model cannot be reached: the next request would be too large
        # otherwise.
        except (CallError, InvalidReply, SummaryFailed) as error:
            if warn is not None:
                warn(Note(f"{error}; the turns are hidden from the model instead"))
    return _lay(space, wanted._replace(does=HIDE, viewer="model"), _nothing)


def compact_when_full(
    space: Space, headish: str, *, ptr: str | None = None, warn: Callable[[Note], object] | None = None, **call: Any
) -> Turn | None:
    """``compact`` for ``compact="auto"`` of ``ask``: when a thread fills nine tenths of what its context window leaves
    for a request, its own model compacts it to four tenths.

    Raises: InvalidArgument if the pointer has no context window; as ``compact``.
    """
    measured, pointer = measure_thread(space, headish, ptr=ptr)
    options = measured.window.options
    room = room_for_request(pointer, param_of(options, "max_tokens"))
    own = ptr or options.get("provider_ptr")
    name = own if isinstance(own, str) else None
    return compact(space, headish, to=max(1, room * 4 // 10), over=max(1, room * 9 // 10), ptr=name, warn=warn, **call)


def _wanted(
    space: Space, does: str, first: str, last: str | None, continues: str | None, expect: object
) -> OverlayPlan:
    return OverlayPlan(
        does=does,
        first=parse_headish(first),
        last=parse_headish(first if last is None else last),
        branch=None if continues is None else parse_headish(continues),
        expect=expect,
        author=space._author,
    )


def _lay(space: Space, wanted: OverlayPlan, write: Write) -> Turn | None:
    space._check_writable()
    limit_bytes = space._payload_limit_bytes
    laid = space._store(lambda connection, mint: lay(connection, space._number, wanted, write, limit_bytes, mint))
    return None if laid is None else space._as_turn(laid)


def _lay_words(space: Space, wanted: OverlayPlan, write: Write) -> Turn:
    """Lay an overlay with words of its own, or find the one that has them already."""
    turn = _lay(space, wanted, write)
    assert turn is not None  # only for an overlay without words may nothing have to change
    return turn


def _ask_and_lay(space: Space, wanted: OverlayPlan, ptr: str, call: Mapping[str, Any]) -> Turn:
    """Ask a model for a summary of the covered turns, then lay it over the same turns."""
    from headish.store.answers.summaries import ask_summary  # late: most processes ask for none

    space._check_writable()
    ptr_name = check_name(ptr, "provider pointer")

    def work(connection: Connection) -> tuple[Covering, Pointer]:
        return find_covered(connection, space._number, wanted), find_pointer(connection, space._number, ptr_name)

    (thread, indexes, _), pointer = space._read(work)
    covered = tuple(thread.walked[index].id for index in indexes)
    summary = ask_summary(pointer, ptr, read_covered(thread, indexes), covered[-1], call)
    # By their ids: a name may have moved on while the model answered.
    return _lay_words(space, wanted._replace(among=covered, system=summary.system), _always((Text(summary.text),)))


def _always(blocks: Blocks) -> Write:
    return lambda _thread, _indexes: blocks


def _nothing(_thread: SeenThread, _indexes: list[int]) -> Blocks:
    return ()


def _read_blocks(content: Content | None) -> Blocks:
    """Read the words that take the place of turns; there must be some. Raises: InvalidContent, InvalidArgument."""
    blocks = read_content(content if content is not None else "")
    if not blocks or blocks == (Text(""),):
        raise InvalidArgument("there is nothing to put in the place of the turns: give a text; hide needs none")
    return blocks


def _limit_of(over: float, pointer: Pointer | None) -> float:
    """How many tokens a branch may have before it is compacted."""
    if isinstance(over, int):
        return over
    if pointer is None or pointer.context_window is None:
        raise InvalidArgument(f"over={over} is a share of a context window, and the thread's pointer names none")
    return over * pointer.context_window
