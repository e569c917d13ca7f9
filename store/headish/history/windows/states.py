"""The effect of overlays on the turns of a thread: read in walk order, a later overlay wins.

Overlays name turns by their digests, so they hold in every store that has the thread. An overlay stands behind the
turns that it covers: they lead to it. Where a turn merges branches, the overlays of all of them hold from there on, in
walk order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from headish.errors import CorruptTurn
from headish.values.ids import TurnId
from headish.values.messages import Attributes, Overlay
from headish.values.turns import OVERLAY, Meta

SUMMARIZE, REPLACE, HIDE, KEEP, UNHIDE, ORIGINAL = "summarize", "replace", "hide", "keep", "unhide", "original"


class Facing(NamedTuple):
    """What decides how a turn and others are seen. ``overlay`` is None for a turn that is no overlay."""

    id: TurnId
    digest: str
    hidden: str | None
    overlay: Overlay | None


@dataclass
class State:
    """How a turn is seen: from whom it is hidden, whose words it shows, and whether every budget keeps it. ``by`` is
    the overlay whose blocks replace it; ``summarized``: they replace other turns, too. ``hider`` is the overlay that
    hides it from the model; None if it is stored so.
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
        """How a list says it; empty for a turn that is seen as it was stored."""
        hidden = {(True, True): "hidden", (True, False): "hidden from the model", (False, True): "hidden from people"}
        said = [hidden.get((self.model, self.people), "")]
        said.append(
            "replaced" if self.by and not self.summarized else "summarized" if self.by and not self.model else ""
        )
        said.append("kept" if self.kept else "")
        return ", ".join(filter(None, said))


def facing(id: TurnId, digest: str, type: str | None, attributes: Attributes) -> Facing:
    """A turn as ``read_states`` takes it.

    Raises: CorruptTurn for an overlay that says nothing, or what nobody knows.
    """
    overlay = attributes.overlay if type == OVERLAY else None
    if type == OVERLAY and (overlay is None or overlay.does not in _EFFECTS):
        does = "nothing" if overlay is None else repr(overlay.does)
        raise CorruptTurn(id, f"it is an overlay that does {does}; a newer headish may know it")
    return Facing(id, digest, attributes.hidden, overlay)


def facing_meta(id: TurnId, digest: str, meta: Meta) -> Facing:
    """``facing`` of a turn that callers hold."""
    return facing(id, digest, meta.type, meta.attributes)


def read_states(turns: Iterable[Facing]) -> dict[str, State]:
    """How the turns of a walk are seen at its end, by their digests; overlays are no keys."""
    states: dict[str, State] = {}
    for turn in turns:
        if turn.overlay is None:
            states.setdefault(turn.digest, _stored(turn.hidden))
            continue
        effect = _EFFECTS[turn.overlay.does]
        for digest in turn.overlay.covers:
            # What is unknown here was left behind on the way (a copy, a damaged place): there is nothing to cover.
            if digest in states:
                effect(states[digest], turn.overlay, turn.id)
    return states


def would_change(state: State, overlay: Overlay) -> bool:
    """Whether one more overlay changes how a turn is seen; one with words of its own always does."""
    after = replace(state)
    _EFFECTS[overlay.does](after, overlay, _NOBODY)
    return after != state


def describe(overlay: Overlay, count: int | None = None) -> str:
    """What an overlay does, in words: to all that it covers, or to ``count`` of them."""
    count = len(overlay.covers) if count is None else count
    turns = f"{count:,} turn" if count == 1 else f"{count:,} turns"
    viewer = {"model": "the model", "people": "people"}.get(overlay.viewer or "", "the model and people")
    return _WORDS.get(overlay.does, "covers {turns}").format(turns=turns, viewer=viewer)


def _stored(hidden: str | None) -> State:
    return State(model=hidden in ("model", "both"), people=hidden in ("people", "both"))


def _summarize(state: State, _overlay: Overlay, id: TurnId) -> None:
    state.by, state.summarized, state.model = id, True, False


def _replace(state: State, _overlay: Overlay, id: TurnId) -> None:
    state.by, state.summarized = id, False


def _hide(state: State, overlay: Overlay, id: TurnId) -> None:
    # A turn that is hidden from the model already keeps its hider, which notes name.
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
"""In the place of an overlay that is not laid."""
_WORDS = {
    SUMMARIZE: "summary of {turns}",
    REPLACE: "replaces {turns}",
    HIDE: "hides {turns} from {viewer}",
    KEEP: "keeps {turns} in every budget",
    UNHIDE: "no longer hides {turns}",
    ORIGINAL: "shows {turns} as stored",
}
