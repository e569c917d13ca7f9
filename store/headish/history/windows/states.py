"""Apply overlays to the turns of a thread, in walk order: a later overlay wins.

Overlays name turns by their digests, so they apply in every store that has the thread. The turns that an overlay covers
lead to it. After a merge the overlays of all branches apply, in walk order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from headish.errors import CorruptTurn
from headish.values.ids import TurnId
from headish.values.messages import Attributes, Overlay
from headish.values.turns import OVERLAY

SUMMARIZE, REPLACE, HIDE, KEEP, UNHIDE, ORIGINAL = "summarize", "replace", "hide", "keep", "unhide", "original"


class Facing(NamedTuple):
    """The facts of a turn that decide how it is seen, or, for an overlay, how other turns are seen."""

    id: TurnId
    digest: str
    hidden: str | None
    overlay: Overlay | None


@dataclass
class State:
    """How a turn is seen. ``model`` and ``people``: it is hidden from them. ``by`` is the overlay whose blocks replace
    it; with ``summarized`` they are a summary, which may replace other turns, too. ``kept``: no budget cuts it.
    ``hider`` is the overlay that hides it from the model; None if it is stored hidden.
    """

    model: bool = False
    people: bool = False
    by: TurnId | None = None
    summarized: bool = False
    kept: bool = False
    hider: TurnId | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the turn is seen as it was stored."""
        return not (self.model or self.people or self.by)

    @property
    def words(self) -> str:
        """The state in words, for lists; empty for a turn that is seen as it was stored."""
        hidden = {(True, True): "hidden", (True, False): "hidden from the model", (False, True): "hidden from people"}
        parts = [hidden.get((self.model, self.people), "")]
        parts.append(
            "replaced" if self.by and not self.summarized else "summarized" if self.by and not self.model else ""
        )
        parts.append("kept" if self.kept else "")
        return ", ".join(filter(None, parts))


def facing(id: TurnId, digest: str, type: str | None, attributes: Attributes) -> Facing:
    """Make the input of ``read_states`` for a turn.

    Raises: CorruptTurn for an overlay without an effect, or with one that this version does not know.
    """
    # Skipping an unknown effect could show what a newer version hid.
    overlay = attributes.overlay if type == OVERLAY else None
    if type == OVERLAY and (overlay is None or overlay.does not in _EFFECTS):
        does = "nothing" if overlay is None else repr(overlay.does)
        raise CorruptTurn(id, f"it is an overlay that does {does}; a newer headish may know it")
    return Facing(id, digest, attributes.hidden, overlay)


def read_states(turns: Iterable[Facing]) -> dict[str, State]:
    """The state in which each turn of a walk is seen at its end, by digest. Overlays themselves have none."""
    states: dict[str, State] = {}
    for turn in turns:
        if turn.overlay is None:
            hidden = turn.hidden
            state = State(model=hidden in ("model", "both"), people=hidden in ("people", "both"))
            states.setdefault(turn.digest, state)
            continue
        effect = _EFFECTS[turn.overlay.does]
        for digest in turn.overlay.covers:
            # A digest that is not in this walk was left behind, for example by a copy: there is nothing to cover.
            if digest in states:
                effect(states[digest], turn.overlay, turn.id)
    return states


def would_change(state: State, overlay: Overlay) -> bool:
    """Whether one more overlay would change how a turn is seen. An overlay with words of its own always does."""
    after = replace(state)
    _EFFECTS[overlay.does](after, overlay, _NOBODY)
    return after != state


def describe(overlay: Overlay, count: int | None = None) -> str:
    """Describe what an overlay does to the turns that it covers, or to ``count`` of them."""
    count = len(overlay.covers) if count is None else count
    turns = f"{count:,} turn" if count == 1 else f"{count:,} turns"
    viewer = {"model": "the model", "people": "people"}.get(overlay.viewer or "", "the model and people")
    return _WORDS.get(overlay.does, "covers {turns}").format(turns=turns, viewer=viewer)


def _summarize(state: State, _overlay: Overlay, id: TurnId) -> None:
    # A summary takes over what was hidden before; a later ``hide`` hides the summary itself.
    state.by, state.summarized, state.model = id, True, False


def _replace(state: State, _overlay: Overlay, id: TurnId) -> None:
    state.by, state.summarized = id, False


def _hide(state: State, overlay: Overlay, id: TurnId) -> None:
    # The first overlay that hides a turn stays its hider: notes name it, and the second changes nothing.
    if overlay.viewer != "people" and not state.model:
        state.model, state.hider = True, id
    state.people = state.people or overlay.viewer != "model"


def _keep(state: State, _overlay: Overlay, _id: TurnId) -> None:
    state.kept = True


def _unhide(state: State, _overlay: Overlay, _id: TurnId) -> None:
    state.model = state.people = False


def _original(state: State, _overlay: Overlay, _id: TurnId) -> None:
    state.by, state.summarized, state.model, state.people, state.kept = None, False, False, False, False


_EFFECTS: dict[str, Callable[[State, Overlay, TurnId], None]] = {
    SUMMARIZE: _summarize,
    REPLACE: _replace,
    HIDE: _hide,
    KEEP: _keep,
    UNHIDE: _unhide,
    ORIGINAL: _original,
}
_NOBODY = TurnId("")
"""The id of an overlay that is only tried, not stored."""
_WORDS = {
    SUMMARIZE: "summary of {turns}",
    REPLACE: "replaces {turns}",
    HIDE: "hides {turns} from {viewer}",
    KEEP: "keeps {turns} in every budget",
    UNHIDE: "no longer hides {turns}",
    ORIGINAL: "shows {turns} as stored",
}
