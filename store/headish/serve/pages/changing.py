"""``POST /do/ACTION``: what the forms of the page do. Each goes back to where its result is seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headish import ABSENT
from headish.aio import AsyncStore
from headish.errors import InvalidArgument, UnknownTurn
from headish.serve.access.state import enter
from headish.serve.pages.drawing import Links, links_of
from headish.serve.pages.hub import Hub, hub_of
from headish.values.access.tokens import Right
from headish.values.ids import TurnId


class Form:
    """What a form sent: ``turn`` it is about, the bookmark ``name`` of its page, and its own fields."""

    def __init__(self, fields: Mapping[str, str], hub: Hub, link: Links) -> None:
        self._fields, self.hub, self.link = fields, hub, link

    def __call__(self, field: str) -> str:
        return self._fields.get(field, "").replace("\r\n", "\n").strip()

    def need(self, field: str) -> str:
        """A field that must not be empty. Raises: InvalidArgument."""
        value = self(field)
        if not value:
            raise InvalidArgument(f"the form has no {field}")
        return value

    @property
    def name(self) -> str | None:
        return self("name") or None

    def at(self, turn: TurnId, name: str | None = None) -> str:
        """The page that shows a turn."""
        return self.link.thread(name or self.name, turn) + f"#t{turn}"


Action = Callable[[AsyncStore, Form], Awaitable[str]]


async def do_action(request: Request) -> Response:
    """Do what a form asks for, and go to the page that shows it."""
    right, action = ACTIONS.get(request.path_params["action"], (None, None))
    if right is None or action is None:
        raise InvalidArgument(f"the page has no action {request.path_params['action']}")
    store = await enter(request, right)
    async with request.form() as sent:
        fields = {key: value for key, value in sent.items() if isinstance(value, str)}
    hub = hub_of(request)
    place = await action(store, Form(fields, hub, links_of(request)))
    hub.changed(store.space)
    return RedirectResponse(place, 303)


async def say(store: AsyncStore, form: Form) -> str:
    """Say something behind a turn or a bookmark; with ``ask`` the model answers."""
    content, name = form.need("content"), form.name
    continues = name or form("turn") or None
    if not form("ask"):
        turn = await store.add_turn(content, continues=continues, bookmark=form("new") or None)
        return form.at(turn.id, form("new") or None)
    asked, carried = await store.say(
        content, continues=continues, bookmark=form("new") or None, ptr=form("ptr") or None,
        system=form("system") or None,
    )  # fmt: skip
    turn = await store.get(asked if isinstance(asked, str) else asked[0])
    await form.hub.begin(store, turn.id, store.open_answer(turn.id, carried, ptr=form("ptr") or None))
    return form.at(turn.id, carried)


async def answer(store: AsyncStore, form: Form) -> str:
    """Ask for an answer to what a turn says."""
    turn = await store.get(form.need("turn"))
    await form.hub.begin(store, turn.id, store.open_answer(turn.id, form.name, ptr=form("ptr") or None))
    return form.at(turn.id)


async def retry(store: AsyncStore, form: Form) -> str:
    """Ask for another answer in the place of one."""
    turn = await store.get(form.need("turn"))
    asked = turn.meta.continues[0] if turn.meta.continues else turn.id
    where = await _from_name(store, form, turn.id)
    await form.hub.begin(store, asked, store.open_retry(where))
    return form.at(asked)


async def edit(store: AsyncStore, form: Form) -> str:
    """Say something else in the place of a turn; with ``ask`` the model answers it."""
    old = (await store.get(form.need("turn"))).id
    where = await _from_name(store, form, old)
    edited = await store.edit(where, form.need("content"), keep=bool(form("keep")))
    turn = edited.turn
    if form("ask"):
        await form.hub.begin(store, turn.id, store.open_answer(turn.id, form.name, ptr=form("ptr") or None))
    # By an id the bookmark stays where it is: the new version is on a branch of its own.
    return form.at(turn.id) if where != old else form.link(f"/t/{turn.id}") + f"#t{turn.id}"


async def fork(store: AsyncStore, form: Form) -> str:
    """Give a turn a new name, to go on from there."""
    turn, name = await store.get(form.need("turn")), form.need("new")
    await store.bookmarks.set(name, turn.id, expect=ABSENT)
    return form.at(turn.id, name)


async def replace(store: AsyncStore, form: Form) -> str:
    """Put other words in the place of a turn's, for the model and for people."""
    turn = (await store.get(form.need("turn"))).id
    await store.replace(turn, form.need("content"), continues=_end(form))
    return form.at(turn)


async def hide(store: AsyncStore, form: Form) -> str:
    """Hide a turn from the model, from people or from both."""
    turn = (await store.get(form.need("turn"))).id
    await store.hide(turn, viewer=form("viewer") or "both", continues=_end(form))
    return form.at(turn)


async def show(store: AsyncStore, form: Form) -> str:
    """Show a turn as it was said."""
    turn = (await store.get(form.need("turn"))).id
    await store.original(turn, continues=_end(form))
    return form.at(turn)


async def describe(store: AsyncStore, form: Form) -> str:
    """Set title and tags of a conversation, and whether it is pinned or archived."""
    subject = form.need("subject")
    tags = [tag for each in form("tags").split(",") if (tag := each.strip())]
    await store.conversations.set(
        subject, title=form("title"), tags=tags, pinned=bool(form("pinned")), archived=bool(form("archived"))
    )
    return form.link.thread(form.name) if form.name else form.link(f"/t/{subject}")


async def undo(store: AsyncStore, form: Form) -> str:
    """Move a bookmark one turn back."""
    name = form.need("name")
    await store.bookmarks.undo(name)
    return form.link.thread(name) if await store.bookmarks.contains(name) else form.link("/")


async def stop(store: AsyncStore, form: Form) -> str:
    """End an answer that arrives; what came of it is stored."""
    arriving = form.hub.find(store.space, form.need("answer"))
    if arriving is not None:
        arriving.stop()
    return form.at((await store.get(form.need("turn"))).id)


async def erase(store: AsyncStore, form: Form) -> str:
    """Erase what a turn says, once its handle was typed."""
    turn = await store.get(form.need("turn"))
    handle = (await store.abbreviate([turn.id]))[turn.id]
    if form("handle") != handle:
        raise InvalidArgument(f"nothing was erased: type the handle {handle} to confirm")
    scope = form("scope")
    if scope not in SCOPES:
        raise InvalidArgument(f"scope is one of {', '.join(SCOPES)}")
    await store.erase(turn.id, scope=SCOPES[scope], reason=form.need("reason"))
    return form.link.thread(None, turn.id)


def _end(form: Form) -> str:
    """What an overlay continues: the bookmark of the page, else the last turn of its thread."""
    return form.name or form.need("head")


async def _from_name(store: AsyncStore, form: Form, turn: TurnId) -> str:
    """A turn as ``NAME~n``, so that the bookmark of the page moves along; its id where that names another turn."""
    back = form("back")
    if form.name is None or not back.isdigit():
        return turn
    headish = f"{form.name}~{back}"
    try:
        found = await store.get(headish)
    except (UnknownTurn, InvalidArgument):
        return turn
    return headish if found.id == turn else turn


SCOPES: dict[str, Literal["turn", "thread", "branch"]] = {"turn": "turn", "thread": "thread", "branch": "branch"}
ACTIONS: dict[str, tuple[Right, Action]] = {
    "say": ("write", say),
    "answer": ("write", answer),
    "retry": ("write", retry),
    "edit": ("write", edit),
    "fork": ("write", fork),
    "replace": ("write", replace),
    "hide": ("write", hide),
    "show": ("write", show),
    "describe": ("write", describe),
    "undo": ("write", undo),
    "stop": ("write", stop),
    "erase": ("erase", erase),
}
"""Each action, and the right that it needs."""
