"""A few of the strikes that ``make strikes`` repeats for hours, and what they find where something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish import Store
from soak import strikes
from soak.rounds import Failed, Skipped, Soak, Where
from soak.strikes import WAYS, Results, place, strike_all
from soak.verbs import VERBS, Verb

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("soak")]
if not hasattr(os, "fork"):
    pytest.skip("strikes fork; run these on Linux or macOS", allow_module_level=True)


@pytest.fixture
def soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    soak = Soak(tmp_path_factory.mktemp("strikes"), seed=1)
    yield soak
    soak.close()


def place_of(soak: Soak, on: str, verb: str) -> Where:
    try:
        return place(soak, on, VERBS[verb])
    except Skipped as reason:
        pytest.skip(str(reason))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt inside a destructor
@pytest.mark.parametrize("on", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
@pytest.mark.parametrize("way", WAYS)
def test_a_verb_that_is_struck_loses_nothing(soak: Soak, way: str, on: str) -> None:
    done = WAYS[way](place_of(soak, on, "Pointers.set"), VERBS["Pointers.set"], 3, soak.chance)
    assert done.strikes >= 3


def test_a_call_of_two_transactions_leaves_a_part(soak: Soak) -> None:
    def call(store: Store, tag: str) -> None:
        store.add_turn(tag, bookmark=tag)
        store.add_turn(f"{tag} again", continues=tag)

    twice = Verb(call, lambda store, tag: tag in store.bookmarks)
    with pytest.raises(Failed, match="a part was left at statement"):
        WAYS["statements"](place(soak, "sqlite", twice), twice, 1, soak.chance)


@pytest.mark.parametrize("way", ["kills", "interrupts"])
def test_what_was_acknowledged_and_is_not_there_is_lost(soak: Soak, way: str) -> None:
    told = Verb(lambda store, tag: len(store.heads()), lambda store, tag: tag in store.bookmarks)
    with pytest.raises(Failed, match="acknowledged calls are lost"):
        WAYS[way](place(soak, "sqlite", told), told, 5, soak.chance)


class TestResults:
    """What has run counts."""

    def test_a_run_that_was_ended_goes_on_where_it_was(self, soak: Soak, tmp_path: Path) -> None:
        path, verbs = tmp_path / "results", ["Pointers.set", "Objects.put", "Bundles.apply"]
        assert not strike_all(soak, "interrupts", "sqlite", verbs, 2, Results(path))
        assert not strike_all(soak, "interrupts", "sqlite", verbs, 5, Results(path))
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(each["verb"], each["strikes"]) for each in lines] == [
            *((verb, 2) for verb in verbs), *((verb, 3) for verb in verbs)
        ]  # fmt: skip
        assert [Results(path).of("interrupts", "sqlite", verb).strikes for verb in verbs] == [5, 5, 5]
        assert Results(path).of("interrupts", "postgresql", verbs[0]) == (0, 0)

    def test_all_verbs_have_their_turn_before_one_has_its_second(
        self, soak: Soak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("soak.strikes.SLICE", 2)
        verbs = ["Pointers.set", "Spaces.grant", "Objects.put"]
        strike_all(soak, "interrupts", "sqlite", verbs, 5, Results(tmp_path / "results"))
        told = [json.loads(line) for line in (tmp_path / "results").read_text().splitlines()]
        assert [each["verb"] for each in told] == ["Pointers.set", "Objects.put"] * 3  # the other has no such database
        assert [each["strikes"] for each in told] == [2, 2, 2, 2, 1, 1]


def test_a_removal_of_a_part_is_seen(soak: Soak) -> None:
    def call(store: Store, tag: str) -> None:
        for name in (tag, f"{tag}.more"):
            if name in store.bookmarks:
                store.bookmarks.remove(name)

    def prepare(store: Store, tag: str) -> None:
        for name in (tag, f"{tag}.more"):
            store.bookmarks.set(name, "main")

    twice = Verb(call, lambda store, tag: tag not in store.bookmarks, prepare)
    with pytest.raises(Failed, match="a part was left at statement"):
        WAYS["statements"](place(soak, "sqlite", twice), twice, 1, soak.chance)
    WAYS["statements"](place(soak, "sqlite", twice), twice._replace(go_on=call), 1, soak.chance)


def test_without_a_word_all_ways_are_struck() -> None:
    words = [strikes.__file__, "--times", "1", "--verbs", "^Pointers.set$", "--on", "sqlite"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {line.split()[0] for line in done.stdout.splitlines()} == set(WAYS)
