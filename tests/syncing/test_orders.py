"""Bundles that arrive in any order: nothing that one of them says is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import MissingParents
from support.loops import failing
from support.places import Place
from support.signers import Keys, needs_keygen

Step = Callable[[Store], object]
STEPS: dict[str, Step] = {
    "question": lambda store: store.add_turn("hello"),
    "edit": lambda store: store.edit(_first(store), "hello there"),
    "title": lambda store: store.conversations.set(_first(store), title="T", tags=["a"], pinned=True),
    "bookmark": lambda store: store.bookmarks.set("main", _first(store)),
    "title of the bookmark": lambda store: store.conversations.set("main", title="M"),
    "answer": lambda store: store.add_turn("hi", role="assistant", continues=_first(store)),
    "answer that moves the bookmark": lambda store: store.add_turn("hi", role="assistant", continues="main"),
    "overlay": lambda store: store.hide(_first(store), continues=store.get("@").id),
    "erasure": lambda store: store.erase(store.get("@").id, reason="r"),
    "signature": lambda store: store.sign(_first(store)),
}
SAID = [
    ("question", "title"),
    ("question", "edit", "title"),
    ("question", "title", "edit"),
    ("question", "bookmark"),
    ("question", "bookmark", "title of the bookmark"),
    ("question", "title", "bookmark"),
    ("question", "bookmark", "answer that moves the bookmark"),
    ("question", "answer", "overlay"),
    ("question", "answer", "erasure"),
]


@pytest.mark.slow
def test_what_they_say_is_here_in_the_end(place: Place, tmp_path: Path) -> None:
    assert failing([(place, tmp_path, each) for each in SAID], _check_orders) == {}


@needs_keygen
def test_a_signature_is_here_in_the_end(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADISH_SIGNING_KEY", str(Keys(tmp_path / "ssh").make("anna")))
    _check_orders(place, tmp_path, ("question", "signature"))


def _check_orders(place: Place, folder: Path, said: tuple[str, ...]) -> None:
    here = place.fresh()
    files: list[Path] = []
    cursor = None
    for number, step in enumerate(said):
        STEPS[step](here)
        files.append(folder / f"{'-'.join(said)}.{number}")
        cursor = here.bundles.create(files[-1], since=cursor).cursor
    wanted = _read_in(place, files)
    assert wanted[1:] == _shown(here)[1:]
    for order in permutations(files):
        assert _read_in(place, order) == wanted, [each.suffix for each in order]


def _read_in(place: Place, files: tuple[Path, ...] | list[Path]) -> tuple[Any, ...]:
    """What a new store shows that applied bundles in this order, and those again that came before what they need."""
    there, left = place.fresh(), [*files]
    while left:
        refused = [each for each in left if not _is_applied(there, each)]
        assert len(refused) < len(left)
        left = refused
    assert there.verify().problems == ()
    return _shown(there)


def _is_applied(store: Store, file: Path) -> bool:
    try:
        store.bundles.apply(file)
    except MissingParents:
        return False
    return True


def _shown(store: Store) -> tuple[Any, ...]:
    """The turns with whether they are erased; the titles; conversations, bookmarks and signatures."""
    entries = store.conversations.list().entries
    return (
        {turn.id: (turn.seal, turn.erased is not None) for turn in store.turns()},
        [each.title for each in entries],
        [(each.conversation.name, each.conversation.record, each.turns) for each in entries],
        {name: [turn.id for turn in store.thread(name)] for name in store.bookmarks},
        [(each.turn, each.key) for each in store.signatures()],
    )


def _first(store: Store) -> str:
    return next(iter(store.turns())).id
