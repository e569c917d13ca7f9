"""A few of the strikes that ``make strikes`` repeats for hours, and what they find where something is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from concurrency.test_every_verb import WRITING
from headish import Store
from soak.rounds import Failed, Skipped, Soak, Where
from soak.strikes import WAYS
from soak.verbs import VERBS, Verb

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("soak")]
if not hasattr(os, "fork"):
    pytest.skip("strikes fork; run these on Linux or macOS", allow_module_level=True)


@pytest.fixture
def soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    soak = Soak(tmp_path_factory.mktemp("strikes"), seed=1)
    yield soak
    soak.close()


def place(soak: Soak, on: str) -> Where:
    try:
        where = soak.file() if on == "sqlite" else soak.space()
    except Skipped as reason:
        pytest.skip(str(reason))
    Store.open(where.target, space="copies").close()
    return where


def test_every_verb_that_is_struck_is_one_that_writes() -> None:
    assert VERBS.keys() <= WRITING.keys()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt inside a destructor
@pytest.mark.parametrize("on", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
@pytest.mark.parametrize("way", WAYS)
def test_a_verb_that_is_struck_loses_nothing(soak: Soak, way: str, on: str) -> None:
    done = WAYS[way](place(soak, on), VERBS["Pointers.set"], 3, soak.chance)
    assert done.strikes >= 3


def test_a_call_of_two_transactions_leaves_a_part(soak: Soak) -> None:
    def call(store: Store, tag: str) -> None:
        store.add_turn(tag, bookmark=tag)
        store.add_turn(f"{tag} again", continues=tag)

    twice = Verb(call, lambda store, tag: tag in store.bookmarks)
    with pytest.raises(Failed, match="a part was left at statement"):
        WAYS["statements"](place(soak, "sqlite"), twice, 1, soak.chance)


@pytest.mark.parametrize("way", ["kills", "interrupts"])
def test_what_was_acknowledged_and_is_not_there_is_lost(soak: Soak, way: str) -> None:
    told = Verb(lambda store, tag: len(store.heads()), lambda store, tag: tag in store.bookmarks)
    with pytest.raises(Failed, match="acknowledged calls are lost"):
        WAYS[way](place(soak, "sqlite"), told, 5, soak.chance)
