"""``/c/NAME`` and ``/t/ID``: a thread in windows of 50 turns, with its rail; and single turns of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headish.aio import AsyncStore
from headish.aio.threads import finish
from headish.content.prices import Prices
from headish.errors import Ambiguous, InvalidArgument, InvalidName, SigningFailed, UnknownConversation, UnknownTurn
from headish.history.reading.costs import Cost
from headish.history.reading.usage import Count
from headish.providers.pointers import NamedPointer
from headish.serve.access.state import enter, state_of
from headish.serve.pages.drawing import draw, links_of, plain, unmarked
from headish.serve.pages.hub import hub_of, not_stored
from headish.serve.pages.money import say_cost
from headish.serve.pages.rail import draw_rail
from headish.serve.pages.turns import WINDOW_TURNS, Beginnings, say_tokens, show_turns
from headish.store.asking.origins import acting_options
from headish.values.ids import TurnId
from headish.values.results.conversations import Conversation
from headish.values.results.reports import JudgedSignature
from headish.values.results.sharing import NameElsewhere
from headish.values.results.threads import Stretch
from headish.values.turns import TreeTurn, preamble_of

LOG = logging.getLogger("headish.serve")
EDITED_CHARACTERS = 200_000
"""The longest text that a form offers to edit."""
BEGINNING_TURNS = 10
"""The turns at the beginning of a thread among which its first words are sought."""
BEGUN_ALIKE = 20
"""How many of the conversations that begin alike a page links: those that began first."""
TREE_TURNS, COUNTED_TURNS = 200, 2_000
"""The turns of a tree that the rail draws, and the longest thread whose tokens are counted each time it is shown."""


class Window(Struct, frozen=True):
    """The range of a thread's turns that the page shows, and the starts of the pages before and after it, and of the
    last one if that is yet another; None if there is no such page."""

    start: int
    end: int
    total: int

    @property
    def earlier(self) -> int | None:
        return max(0, self.start - WINDOW_TURNS) if self.start else None

    @property
    def later(self) -> int | None:
        return self.end if self.end < self.total else None

    @property
    def newest(self) -> int | None:
        last = self.total - WINDOW_TURNS
        return last if last > self.end else None


async def show_conversation(request: Request) -> Response:
    """Show the thread of a bookmark: its end, the turns around ``at``, or those from ``start`` on. Redirect to the
    answer while the first question is being answered, and to the turn ``at`` if it is no longer in the thread."""
    name = request.path_params["name"]
    store = await enter(request, "read")
    around, start = request.query_params.get("at"), _number(request, "start")

    async def read() -> Stretch:
        if start is None:
            return await store.stretch(name, limit=WINDOW_TURNS, faces=True, around=around)
        return await _read_from(store, name, start)

    try:
        return await _draw_thread(request, store, read, name)
    except UnknownTurn:
        begun = hub_of(request).begun_in(store.space)
        answer = next((each for each in begun if each.passing is not None and each.passing.name == name), None)
        if answer is not None:
            return RedirectResponse(links_of(request)(f"/arriving/{answer.id}"), 303)
        if around is None:
            raise
        turn = await store.get(around)
        return RedirectResponse(links_of(request).turn(None, turn.id), 303)


async def show_turn(request: Request) -> Response:
    """Show a turn and the turns around it, in the thread that goes on to the end of the newest branch after it."""
    headish = request.path_params["headish"]
    store = await enter(request, "read")
    turn = await store.get(headish)
    start = _number(request, "start")

    async def read() -> Stretch:
        if start is None:
            return await store.stretch(turn.id, limit=WINDOW_TURNS, onward=True, faces=True)
        # The end of the same thread: counted from the turn alone, the windows after it would be missing.
        head = (await store.stretch(turn.id, limit=1, onward=True)).head
        return await _read_from(store, head, start)

    return await _draw_thread(request, store, read, None)


async def _read_from(store: AsyncStore, headish: str, start: int) -> Stretch:
    """Read a page of turns from ``start`` on; the last page if the thread is shorter, as after an undo."""
    stretch = await store.stretch(headish, start=start, limit=WINDOW_TURNS, faces=True)
    return stretch if stretch.turns else await store.stretch(headish, limit=WINDOW_TURNS, faces=True)


async def show_whole(request: Request) -> Response:
    """Show one turn with all of its text."""
    store = await enter(request, "read")
    turn = await store.get(request.path_params["headish"])
    stretch = await store.stretch(turn.id, limit=1, faces=True)
    handles = await store.abbreviate([turn.id])
    shown, name = show_turns(stretch, handles, whole=True), request.query_params.get("name") or None
    return await draw(request, "whole.html", shown=shown, turn=turn, name=name)


async def show_change(request: Request) -> Response:
    """Show the actions on a turn in the thread of a bookmark (``name``) or of another turn (``head``)."""
    store = await enter(request, "read")
    turn = await store.get(request.path_params["headish"])
    stretch = await store.stretch(turn.id, limit=1, faces=True)
    handle = (await store.abbreviate([turn.id]))[turn.id]
    # A turn that is too long for a form, or not text, can only be edited by a program.
    text = await store.text(turn.id) if turn.erased is None and turn.meta.type is None else ""
    query, pointers = request.query_params, await store.pointers.list()
    return await draw(
        request, "change.html", turn=turn, handle=handle, shown=show_turns(stretch, {turn.id: handle}),
        text=text if text and len(text) <= EDITED_CHARACTERS else None, name=query.get("name"),
        head=query.get("head", turn.id), back=query.get("back", ""), pointers=pointers,
        own=await own_pointer(store, turn.id, pointers), default=await store.pointers.default(),
    )  # fmt: skip


async def show_version(request: Request) -> Response:
    """Go to another version of a turn, by its number, counted from 1."""
    store = await enter(request, "read")
    siblings = await store.siblings(request.path_params["headish"])
    number = min(max(1, request.path_params["number"]), len(siblings.turns))
    chosen = siblings.turns[number - 1].id
    return RedirectResponse(links_of(request)(f"/t/{chosen}") + f"#t{chosen}", 303)


async def show_arriving(request: Request) -> Response:
    """Show an answer that begins a conversation while it arrives; redirect to its turn once it is stored."""
    store, id = await enter(request, "read"), request.path_params["call"]
    answers = [each for each in hub_of(request).begun_in(store.space) if each.id == id]
    cursor = await store.position()  # before the look: if the answer is stored meanwhile, an event tells the page
    for answer in await not_stored(store, answers):
        return await draw(request, "arriving.html", answer=answer, cursor=cursor)
    call, link = await store.calls.get(id), links_of(request)
    turn = call.answer or call.tip
    return RedirectResponse(link("/calls") if turn is None else link.turn(None, turn), 303)


async def _draw_thread(
    request: Request, store: AsyncStore, read: Callable[[], Awaitable[Stretch]], name: str | None
) -> Response:
    cursor = await store.position()  # before the thread: what is written meanwhile comes as an event, and is not missed
    hub = hub_of(request)
    before, stretch = hub.arriving_in(store.space), await read()
    turns = {turn.id for turn in stretch.turns}
    answers = await not_stored(store, hub.answers_to(store.space, turns))
    if any(each.asked in turns and each not in answers for each in before):
        stretch = await read()  # one was stored meanwhile: a page without the script would never show it
        turns = {turn.id for turn in stretch.turns}
    prices = state_of(request).prices
    tree = await store.tree(stretch.turns[-1].id, limit=TREE_TURNS)
    is_end = stretch.start + len(stretch.turns) >= stretch.total
    pointers = await store.pointers.list() if is_end else []
    own = await own_pointer(store, stretch.head, pointers)
    return await draw(
        request, "thread.html", cursor=cursor, rail=draw_rail(tree, turns),
        pointers=pointers, default=await store.pointers.default(), own=own,
        elsewhere=await _elsewhere(store, name), answers=answers,
        **await read_about(store, stretch, name, prices), **await read_window(store, stretch, prices),
    )  # fmt: skip


async def own_pointer(store: AsyncStore, headish: str, pointers: Sequence[NamedPointer]) -> str | None:
    """The pointer of a thread, if it is one of ``pointers``: what a stranger's turn names is not asked."""
    own = (await finish(acting_options, store.sync, headish)).get("provider_ptr") if pointers else None
    return next((each.name for each in pointers if each.name == own), None)


async def _elsewhere(store: AsyncStore, name: str | None) -> list[NameElsewhere]:
    """Where other devices have the bookmark of a page."""
    try:
        return [] if name is None else await store.remotes.elsewhere(name)
    except InvalidName:  # an address may say main~2, which names a turn and not a bookmark
        return []


async def read_about(
    store: AsyncStore, stretch: Stretch, name: str | None, prices: Prices | None = None
) -> dict[str, Any]:
    """The values of ``thread.html`` that are about the thread as a whole."""
    conversation = await _conversation(store, name or stretch.head)
    counted = await _count(store, stretch, prices) if stretch.total <= COUNTED_TURNS else None
    title = conversation.record.title if conversation else ""
    return {
        "title": plain(title or await _first_words(store, stretch) or name or "A conversation", 120),
        "conversation": conversation,
        "name": name,
        "head": stretch.head,
        "usage": counted,
        "uncounted": "" if counted else "Tokens" if prices is None else "Tokens and cost",
        "counted_turns": COUNTED_TURNS,
        "cost": say_cost(counted) if isinstance(counted, Cost) else "",
        "tokens": say_tokens(counted.usage.to_dict()) if counted else "",
    }


async def _count(store: AsyncStore, stretch: Stretch, prices: Prices | None) -> Count | Cost:
    """Count the tokens of a thread; with a table of prices, also their cost. Reads the replies once either way."""
    counted = await (store.usage(stretch.head) if prices is None else store.cost(stretch.head, prices=prices))
    return counted[0]


async def read_window(store: AsyncStore, stretch: Stretch, prices: Prices | None = None) -> dict[str, Any]:
    """The values of ``thread.html`` that are about a stretch of the thread."""
    ids = [turn.id for turn in stretch.turns]
    handles = await store.abbreviate(ids)
    signatures, unchecked = await _signatures_of(store, ids)
    others = await _read_others(store, stretch)
    return {
        "shown": await run_in_threadpool(show_turns, stretch, handles, prices=prices, others=others),
        "signatures": signatures,
        "unchecked": unchecked,
        "window": Window(stretch.start, stretch.start + len(stretch.turns), stretch.total),
    }


async def _read_others(store: AsyncStore, stretch: Stretch) -> dict[TurnId, Beginnings]:
    """The other conversations that begin with each system turn of a stretch.

    Cost: none if there are none; otherwise a part of a tree for each such turn, and ``Store.siblings``.
    """
    shared = [each for each in preamble_of(stretch.turns) if len(each.children) + each.more > 1]
    if not shared:
        return {}
    own = {each.id: each.continues for each in stretch.turns}
    first = next((each for each in stretch.turns if shared[-1].id in each.continues), None)
    # Versions of this conversation's own first turn are its branches, and not other conversations.
    if first is not None and first.versions > 1:
        own |= {each.id: each.meta.continues for each in (await store.siblings(first.id)).turns}
    beginnings = {}
    for turn in shared:
        count = len(turn.children) + turn.more - sum(turn.id in continues for continues in own.values())
        if count:
            beside = await store.tree(turn.id, limit=BEGUN_ALIKE + 2 * len(own))
            beginnings[turn.id] = Beginnings(count, tuple(_firsts(beside, turn.id, own))[:BEGUN_ALIKE])
    return beginnings


def _firsts(tree: list[TreeTurn], parent: TurnId, own: Mapping[TurnId, object]) -> list[tuple[TurnId, str]]:
    return [(each.id, each.text[:200]) for each in tree if parent in each.continues and each.id not in own]


async def _signatures_of(store: AsyncStore, ids: Sequence[TurnId]) -> tuple[dict[TurnId, list[JudgedSignature]], bool]:
    """The signatures of turns, judged by the server's lists of signers; and whether the check failed."""
    signatures: dict[TurnId, list[JudgedSignature]] = {}
    try:
        for each in await store.signatures(ids):
            signatures.setdefault(each.turn, []).append(each)
    except SigningFailed as error:  # the page is shown without them; only the log gets the reason, which names files
        LOG.warning("signatures are not checked: %s", error)
        return {}, True
    return signatures, False


async def _first_words(store: AsyncStore, stretch: Stretch) -> str:
    """The title of a thread that has none: the user's first words, whichever of its pages is shown."""
    first = stretch if not stretch.start else await store.stretch(stretch.head, start=0, limit=BEGINNING_TURNS)
    return unmarked(next((turn.text for turn in first.turns if turn.role == "user" and turn.text), "")[:500])


async def _conversation(store: AsyncStore, subject: str) -> Conversation | None:
    try:
        return await store.conversations.get(subject)
    except (UnknownConversation, UnknownTurn, Ambiguous, InvalidArgument):
        return None


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    # isdigit alone takes digits of other scripts and raised ones; the length keeps the number within the database's.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
