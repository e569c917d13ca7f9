"""Bundles that arrive in any order: nothing that one of them says is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import MissingParents
from headish.values.results.conversations import Record
from support.loops import failing
from support.machines import Machine, url_of
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


def test_a_title_from_where_the_conversation_has_no_name_is_that_of_its_first_name(
    place: Place, tmp_path: Path
) -> None:
    here, there = place.fresh(), place.fresh()
    question = here.add_turn("hello")
    here.bundles.create(tmp_path / "question")
    there.bundles.apply(tmp_path / "question")
    there.conversations.set(question.id, title="T")
    there.bundles.create(tmp_path / "title", question.id)
    for name in ("main", "other"):
        here.bookmarks.set(name, question.id)
    here.bundles.create(tmp_path / "names", question.id)
    for order in permutations(tmp_path / name for name in ("question", "title", "names")):
        entries = _read_in(place, order)[2]
        assert entries == [("other", Record(), 1), ("main", Record(title="T"), 1)], order
    here.conversations.set("main", title="of the name")  # one that it has stays, as a file says nothing of times
    here.bundles.apply(tmp_path / "title")
    assert here.conversations.get("main").record.title == "of the name"


class TestAnEditedQuestion:
    """Its title is that of the conversation, whichever version a store has."""

    def test_keeps_the_title_that_somebody_gave_it_without_the_original(self, place: Place, tmp_path: Path) -> None:
        here, there = place.fresh(), place.fresh()
        question = here.add_turn("hello")
        here.bundles.create(tmp_path / "question")
        edit = here.edit(question.id, "hello there").turn
        here.bundles.create(tmp_path / "edit", edit.id)
        there.bundles.apply(tmp_path / "edit")
        there.conversations.set(edit.id, title="T")
        there.bundles.create(tmp_path / "title", edit.id)
        for order in permutations(tmp_path / name for name in ("question", "edit", "title")):
            assert _read_in(place, order)[1:3] == (["T"], [(None, Record(title="T"), 2)]), order

    def test_goes_with_its_title_and_without_the_original(self, place: Place, tmp_path: Path) -> None:
        here = place.fresh()
        question = here.add_turn("hello")
        here.conversations.set(question.id, title="T")
        here.bundles.create(tmp_path / "edit", here.edit(question.id, "hello there").turn.id)
        assert _read_in(place, [tmp_path / "edit"])[1] == ["T"]

    def test_keeps_the_title_where_a_folder_brings_the_original_last(
        self, machine: Callable[..., Machine], tmp_path: Path
    ) -> None:
        box, three = tmp_path / "box", [machine(name) for name in ("desk", "laptop", "phone")]
        for each in three:
            each.add(url_of(box), plain=True)
        desk, laptop, phone = three
        question = desk.store.add_turn("hello")
        desk.sync()
        laptop.sync()
        edit = laptop.store.edit(question.id, "hello there").turn
        laptop.sync()
        with desk as store:
            [own] = [device.device for device in store.remotes.devices("box") if device.own]
        [log] = box.glob(f"v1/*/{own}")
        late = log.rename(tmp_path / "late")
        phone.sync()
        phone.store.conversations.set(edit.id, title="T")
        late.rename(log)
        for each in (*three, *three, *three):
            each.sync()
        assert [_shown(each.store)[1:3] for each in three] == [(["T"], [(None, Record(title="T"), 2)])] * 3
        assert [each.store.verify().problems for each in three] == [()] * 3


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
