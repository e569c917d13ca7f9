"""``/``: the conversations of a space with filters, and the hits of a search in them."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from headish.aio import AsyncStore
from headish.renderings.marking import show_unseen
from headish.serve.access.state import enter
from headish.serve.pages.drawing import draw, links_of
from headish.serve.pages.hub import hub_of, not_stored
from headish.values.results.searches import Hit
from headish.values.turns import Turn

LISTED, HITS, BEGUN = 50, 30, 20
FILTERS = ("tag", "model", "role", "names", "tool", "since", "until")
"""The filters of the list, as ``conversations.list`` names them."""


class ShownHit(Struct, frozen=True):
    """A turn that a search found: the bookmark that its link leads to, other bookmarks that reach it, and the words
    around the match, with the match marked."""

    turn: Turn
    handle: str
    name: str | None
    others: tuple[str, ...]
    snippet: Markup


async def show_list(request: Request) -> Response:
    """Show the conversations; with ``q``, the turns that a search for it finds."""
    store = await enter(request, "read")
    filters: dict[str, Any] = {name: value for name in FILTERS if (value := request.query_params.get(name, "").strip())}
    query = request.query_params.get("q", "").strip()
    values: dict[str, Any] = {"asked": filters, "query": query, "is_part": "part" in request.query_params}
    if query:
        return await draw(request, "hits.html", hits=await find(store, query, filters), **values)
    archived = "archived" in request.query_params
    cursor = await store.position()  # before the list: what is written meanwhile comes as an event, and is not missed
    page = await store.conversations.list(
        limit=LISTED, after=request.query_params.get("after"), archived=archived, **filters
    )
    further = {"archived": "1" if archived else None, **filters}
    older = links_of(request)("/", after=page.after, **further) if page.after else ""
    # Answers that begin a conversation have no turn yet, so no filter can judge them: only the plain list shows them.
    is_front = not (filters or archived or "after" in request.query_params)
    begun = hub_of(request).begun_in(store.space)[:BEGUN] if is_front else []
    return await draw(
        request, "list.html", page=page, older=older, archived=archived, cursor=cursor,
        begun=await not_stored(store, begun), **values,
    )  # fmt: skip


async def find(store: AsyncStore, query: str, asked: dict[str, Any]) -> list[ShownHit]:
    """The hits of a search, the best first. Filters of the list that a search does not have are left out."""
    narrowed = {name: asked[name] for name in ("tag", "model", "role", "tool") if name in asked}
    hits = await store.search(query, name=asked.get("names"), limit=HITS, **narrowed)
    handles = await store.abbreviate([hit.turn.id for hit in hits])
    return [
        ShownHit(hit.turn, handles[hit.turn.id], next(iter(hit.names), None), hit.names[1:], mark(hit)) for hit in hits
    ]


def mark(hit: Hit) -> Markup:
    """The words around a match, with the matches in ``mark`` elements."""
    pieces, at = [], 0
    for start, end in hit.marks:
        pieces += [escape(show_unseen(hit.snippet[at:start])), Markup("<mark>")]
        pieces += [escape(show_unseen(hit.snippet[start:end])), Markup("</mark>")]
        at = end
    return Markup("").join([*pieces, escape(show_unseen(hit.snippet[at:]))])
