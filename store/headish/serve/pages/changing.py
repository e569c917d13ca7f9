"""``POST /do/ACTION``: the actions of the page's forms. Each redirects to a page that shows the result.

``/erase/ID`` previews an erasure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headish import ABSENT
from headish.aio import AsyncStore
from headish.content.drafts import Continues
from headish.content.excerpts import in_short
from headish.errors import InvalidArgument, UnknownTurn
from headish.serve.access.callers import within_reach
from headish.serve.access.state import caller_of, enter
from headish.serve.pages.drawing import Links, draw, links_of
from headish.serve.pages.hub import Hub, hub_of
from headish.values.access.tokens import Right
from headish.values.ids import TurnId
from headish.values.turns import Turn

ALSO = "also-"


class Sent:
    """The fields of a form: the ``turn`` that it is about, the bookmark ``name`` of its page, and fields of its own."""

    def __init__(self, fields: Mapping[str, str], hub: Hub, link: Links) -> None:
        self._fields, self.hub, self.link = fields, hub, link

    def __call__(self, field: str) -> str:
        return self._fields.get(field, "").replace("\r\n", "\n").strip()  # a form sends every line break as CRLF

    def need(self, field: str) -> str:
        """The value of a field that must not be empty. Raises: InvalidArgument."""
        value = self(field)
        if not value:
            raise InvalidArgument(f"the form has no {field}")
        return value

    @property
    def name(self) -> str | None:
        return self("name") or None

    @property
    def also(self) -> list[str]:
        """The further turns to continue. Each is the name of a ticked field, after ``also-``."""
        return [field.removeprefix(ALSO) for field in self._fields if field.startswith(ALSO)]

    def at(self, turn: TurnId, name: str | None = None) -> str:
        """The address of the page that shows a turn."""
        return self.link.thread(name or self.name, turn) + f"#t{turn}"


Action = Callable[[AsyncStore, Sent], Awaitable[str]]


async def do_action(request: Request) -> Response:
    """Run the action of a form, and redirect to the page that shows its result."""
    right, action = ACTIONS.get(request.path_params["action"], (None, None))
    if right is None or action is None:
        raise InvalidArgument(f"the page has no action {request.path_params['action']}")
    store = await enter(request, right)
    async with request.form() as form:
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
    hub = hub_of(request)
    place = await action(store, Sent(fields, hub, links_of(request)))
    hub.changed(store.space)
    return RedirectResponse(place, 303)  # 303: the browser gets the page, and a reload sends no form again


async def say(store: AsyncStore, sent: Sent) -> str:
    """Continue a turn or a bookmark; with ``ask`` the model answers."""
    content, name = sent.need("content"), sent.name
    continues: Continues = [name or sent.need("turn"), *sent.also] if sent.also else name or sent("turn") or None
    if not sent("ask"):
        turn = await _only_store(store, sent, content, continues)
        return sent.at(turn.id, sent("new") or None)
    question, carried = await store.say(
        content, continues=continues, bookmark=sent("new") or None, ptr=sent("ptr") or None,
        system=sent("system") or None,
    )  # fmt: skip
    turn = await store.get(question if isinstance(question, str) else question[0])
    await sent.hub.begin(store, turn.id, store.open_answer(turn.id, carried, ptr=sent("ptr") or None))
    return sent.at(turn.id, carried)


async def _only_store(store: AsyncStore, sent: Sent, content: str, continues: Continues) -> Turn:
    bookmark = sent("new") or None
    if not sent("system"):
        return await store.add_turn(content, continues=continues, bookmark=bookmark)
    instruction = {"content": sent("system"), "role": "system"}
    # 0 is the index of the system turn in the same call.
    return await (await store.add_turns([instruction, {"content": content, "continues": 0, "bookmark": bookmark}]))[1]


async def answer(store: AsyncStore, sent: Sent) -> str:
    """Ask for an answer to a turn."""
    turn = await store.get(sent.need("turn"))
    await sent.hub.begin(store, turn.id, store.open_answer(turn.id, sent.name, ptr=sent("ptr") or None))
    return sent.at(turn.id)


async def retry(store: AsyncStore, sent: Sent) -> str:
    """Ask for another answer in place of an answer."""
    turn = await store.get(sent.need("turn"))
    question = turn.meta.continues[0] if turn.meta.continues else turn.id
    where = await _from_name(store, sent, turn.id)
    await sent.hub.begin(store, question, store.open_retry(where))
    return sent.at(question)


async def edit(store: AsyncStore, sent: Sent) -> str:
    """Store other words beside a turn, as a new version of it; with ``ask`` the model answers them."""
    old = (await store.get(sent.need("turn"))).id
    where = await _from_name(store, sent, old)
    edited = await store.edit(where, sent.need("content"), keep=bool(sent("keep")))
    turn = edited.turn
    if sent("ask"):
        await sent.hub.begin(store, turn.id, store.open_answer(turn.id, sent.name, ptr=sent("ptr") or None))
    # By an id the bookmark stays where it is: the new version is on a branch of its own.
    return sent.at(turn.id) if where != old else sent.link(f"/t/{turn.id}") + f"#t{turn.id}"


async def fork(store: AsyncStore, sent: Sent) -> str:
    """Give a turn a new name, to continue from there."""
    turn, name = await store.get(sent.need("turn")), sent.need("new")
    await store.bookmarks.set(name, turn.id, expect=ABSENT)  # a name that exists must not leave its conversation
    return sent.at(turn.id, name)


async def take(store: AsyncStore, sent: Sent) -> str:
    """Move a bookmark to where another device has it, if it is still where the page showed it."""
    name = sent.need("name")
    await store.bookmarks.set(name, sent.need("turn"), expect=sent.need("head"))
    return sent.link.thread(name)


async def replace(store: AsyncStore, sent: Sent) -> str:
    """Replace the words of a turn with others, for the model and for people."""
    turn = (await store.get(sent.need("turn"))).id
    await store.replace(turn, sent.need("content"), continues=_end(sent))
    return sent.at(turn)


async def hide(store: AsyncStore, sent: Sent) -> str:
    """Hide a turn from the model, from people or from both."""
    turn = (await store.get(sent.need("turn"))).id
    await store.hide(turn, viewer=sent("viewer") or "both", continues=_end(sent))
    return sent.at(turn)


async def show(store: AsyncStore, sent: Sent) -> str:
    """Show a turn again that was hidden or replaced."""
    turn = (await store.get(sent.need("turn"))).id
    await store.original(turn, continues=_end(sent))
    return sent.at(turn)


async def describe(store: AsyncStore, sent: Sent) -> str:
    """Set title and tags of a conversation, and whether it is pinned or archived."""
    subject = sent.need("subject")
    tags = [tag for each in sent("tags").split(",") if (tag := each.strip())]
    await store.conversations.set(
        subject, title=sent("title"), tags=tags, pinned=bool(sent("pinned")), archived=bool(sent("archived"))
    )
    return sent.link.thread(sent.name) if sent.name else sent.link(f"/t/{subject}")


async def undo(store: AsyncStore, sent: Sent) -> str:
    """Move a bookmark one turn back, if it is still where the page showed it."""
    name = sent.need("name")
    [left] = await store.bookmarks.undo(name, expect=sent("head") or None)
    # The undo of its first position removes a bookmark, and its page with it.
    return sent.link.thread(name) if await store.bookmarks.contains(name) else sent.link.turn(None, left.id)


async def stop(store: AsyncStore, sent: Sent) -> str:
    """End an arriving answer; the text that arrived is stored."""
    arriving = sent.hub.find(store.space, sent.need("answer"))
    if arriving is not None:
        arriving.stop()
    return sent.at((await store.get(sent.need("turn"))).id)


async def erase(store: AsyncStore, sent: Sent) -> str:
    """Erase what a turn says, if its handle was typed."""
    turn = await store.get(sent.need("turn"))
    handle = (await store.abbreviate([turn.id]))[turn.id]
    if sent("handle") != handle:
        raise InvalidArgument(f"nothing was erased: type the handle {handle} to confirm")
    scope = sent("scope")
    if scope not in SCOPES:
        raise InvalidArgument(f"scope is one of {', '.join(SCOPES)}")
    await store.erase(turn.id, scope=SCOPES[scope], reason=sent.need("reason"))
    return sent.link.thread(None, turn.id)


def _end(sent: Sent) -> str:
    """The headish that an overlay continues: the bookmark of the page, else the last turn of its thread."""
    return sent.name or sent.need("head")


async def _from_name(store: AsyncStore, sent: Sent, turn: TurnId) -> str:
    """A turn as ``NAME~n``, so that the bookmark of the page moves along; its id if ``NAME~n`` is another turn now."""
    back = sent("back")
    if sent.name is None or not back.isdigit():
        return turn
    headish = f"{sent.name}~{back}"
    try:
        found = await store.get(headish)
    except (UnknownTurn, InvalidArgument):
        return turn
    return headish if found.id == turn else turn


async def show_erasure(request: Request) -> Response:
    """Show what an erasure would take and what would stay, and the form that erases. The preview changes nothing."""
    store = await enter(request, "erase")
    turn = await store.get(request.path_params["headish"])
    scope = SCOPES.get(request.query_params.get("scope", ""), "turn")
    preview = await store.erase(turn.id, scope=scope, reason="a preview", dry_run=True)
    found = within_reach(preview, caller_of(request)).found
    handles = await store.abbreviate([turn.id, *found.turns[:LISTED_TURNS]])
    texts = {each: await store.text(each) or in_short(await store.blocks(each)) for each in found.turns[:LISTED_TURNS]}
    return await draw(
        request, "erase.html", turn=turn, handle=handles[turn.id], scope=scope, scopes=list(SCOPES), found=found,
        handles=handles, texts=texts, name=request.query_params.get("name") or None,
    )  # fmt: skip


LISTED_TURNS = 20
"""How many of the turns that an erasure would take the preview shows."""
SCOPES: dict[str, Literal["turn", "thread", "branch"]] = {"turn": "turn", "thread": "thread", "branch": "branch"}
ACTIONS: dict[str, tuple[Right, Action]] = {
    "say": ("write", say),
    "answer": ("write", answer),
    "retry": ("write", retry),
    "edit": ("write", edit),
    "fork": ("write", fork),
    "take": ("write", take),
    "replace": ("write", replace),
    "hide": ("write", hide),
    "show": ("write", show),
    "describe": ("write", describe),
    "undo": ("write", undo),
    "stop": ("write", stop),
    "erase": ("erase", erase),
}
"""The actions by name, each with the right that it needs."""
