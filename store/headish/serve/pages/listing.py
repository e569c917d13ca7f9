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
from headish.values.results.conversations import Entry
from headish.values.results.searches import Hit
from headish.values.turns import Turn

LISTED, HITS, BEGUN = 50, 30, 20
LOOKED_AT = 5_000
"""How many conversations are looked at for one page of a filtered list."""
FILTERS = {
    "names": "Name", "tag": "Tag", "model": "Model", "tool": "Tool called", "since": "Since", "until": "Until",
    "role": "Last turn by",
}  # fmt: skip
"""The filters of the list, as ``conversations.list`` names them, with the labels of their fields."""


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
    if query:
        return await draw(request, "hits.html", query=query, hits=await find(store, query, filters))
    archived, is_further = "archived" in request.query_params, "after" in request.query_params
    cursor = await store.position()  # before the list: what is written meanwhile comes as an event, and is not missed
    chosen = {"archived": archived, **filters}
    entries, after = await read_entries(store, request.query_params.get("after"), chosen)
    further = {"archived": "1" if archived else None, **filters}
    older = links_of(request)("/", after=after, **further) if after else ""
    # Answers that begin a conversation have no turn yet, so no filter can judge them: only the plain list shows them.
    is_front = not (filters or archived or is_further)
    begun = hub_of(request).begun_in(store.space)[:BEGUN] if is_front else []
    return await draw(
        request, "list.html", entries=entries, older=older, archived=archived, asked=filters, cursor=cursor,
        begun=await not_stored(store, begun), is_further=is_further, looked_at=LOOKED_AT, labels=FILTERS,
    )  # fmt: skip


async def read_entries(store: AsyncStore, after: str | None, chosen: dict[str, Any]) -> tuple[list[Entry], str | None]:
    """The next conversations that the filters choose, ``LISTED`` or a few more, and where those after them begin; None
    at the end. The store filters each ``LISTED`` conversations, so it may give none of them while others that fit
    follow. Fewer come at the end, and once ``LOOKED_AT`` conversations were looked at."""
    entries: list[Entry] = []
    for _ in range(LOOKED_AT // LISTED):
        page = await store.conversations.list(limit=LISTED, after=after, **chosen)
        entries += page.entries
        after = page.after
        if after is None or len(entries) >= LISTED:
            break
    return entries, after


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
