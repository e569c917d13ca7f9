"""``/diff/A..B``: compare two branches from their fork on, first by turns, then by words."""

from __future__ import annotations

from itertools import groupby

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headish.history.edits.differences import Change
from headish.serve.access.state import enter
from headish.serve.pages.drawing import draw, links_of
from headish.serve.pages.turns import PAGE_CHARACTERS
from headish.values.ids import as_turn_id

VIEWS = ("side", "unified")
CHANGE_CHARACTERS, PIECE_CHARACTERS = 800, 15
"""About how many characters a page needs for a change and for each piece of it, beside their words."""


class Compared(Struct, frozen=True):
    """A change, or the number of turns in a row that are the same."""

    change: Change | None
    same: int = 0


async def show_diff(request: Request) -> Response:
    """Show the differences of ``A..B``. The form of the page sends the two sides as ``a`` and ``b``."""
    between = request.path_params.get("between", "")
    if not between:
        sides = [request.query_params.get(side, "").strip() for side in ("a", "b")]
        if all(sides):
            return RedirectResponse(links_of(request)(f"/diff/{sides[0]}..{sides[1]}"), 303)
        return await draw(request, "diff.html", a=sides[0], b=sides[1], diff=None)
    store = await enter(request, "read")
    diff = await store.diff(between)
    a, _, b = between.partition("..")
    view = request.query_params.get("view", VIEWS[0])
    folded = _folded(list(diff.changes))
    changes = _first_page(folded)
    changed = [each.change for each in changes if each.change is not None]
    turns = [turn.id for each in changed for turn in (each.before, each.after) if turn is not None]
    ids = [as_turn_id(side) for side in (a, b)]
    handles = await store.abbreviate([*turns, *filter(None, ids)])
    a, b = (side if id is None else handles[id] for side, id in zip((a, b), ids, strict=True))
    return await draw(
        request, "diff.html", a=a, b=b, diff=diff, stat=diff.stat, changes=changes, between=between,
        left=sum(each.change is not None for each in folded[len(changes) :]),
        view=view if view in VIEWS else VIEWS[0], handles=handles,
    )  # fmt: skip


def _folded(changes: list[Change]) -> list[Compared]:
    """Fold each run of unchanged turns into its count."""
    folded: list[Compared] = []
    for is_same, run in groupby(changes, lambda change: change.kind == "same"):
        run_changes = list(run)
        folded += [Compared(None, len(run_changes))] if is_same else [Compared(change) for change in run_changes]
    return folded


def _first_page(folded: list[Compared]) -> list[Compared]:
    """The first changes, as many as a page has room for; at least one."""
    room = PAGE_CHARACTERS
    for number, each in enumerate(folded):
        if room <= 0:
            return folded[:number]
        pieces = () if each.change is None else each.change.pieces
        room -= CHANGE_CHARACTERS + sum(PIECE_CHARACTERS + len(piece.text) for piece in pieces)
    return folded
