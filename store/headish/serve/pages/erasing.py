"""``/erase/ID``: what an erasure would take and what would stay, and the form that does it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from headish.serve.access.callers import within_reach
from headish.serve.access.state import caller_of, enter
from headish.serve.pages.changing import SCOPES
from headish.serve.pages.drawing import draw

LISTED_TURNS = 20


async def show_erasure(request: Request) -> Response:
    """The preview. Nothing is changed by looking at it."""
    store = await enter(request, "erase")
    turn = await store.get(request.path_params["headish"])
    scope = SCOPES.get(request.query_params.get("scope", ""), "turn")
    preview = await store.erase(turn.id, scope=scope, reason="a preview", dry_run=True)
    found = within_reach(preview, caller_of(request)).found
    handles = await store.abbreviate([turn.id, *found.turns[:LISTED_TURNS]])
    texts = {each: await store.text(each) for each in found.turns[:LISTED_TURNS]}
    return await draw(
        request, "erase.html", turn=turn, handle=handles[turn.id], scope=scope, scopes=list(SCOPES), found=found,
        handles=handles, texts=texts,
    )  # fmt: skip
