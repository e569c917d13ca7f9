"""A few seconds of what ``make soak`` does for minutes, so that it still runs when it is needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import cycle

import pytest

from headish import Store
from soak import importing, rounds
from soak.kinds import KINDS
from soak.rounds import Failed, Skipped, Soak, finish
from soak.writer import Notes

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("soak")]


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    soak = Soak(tmp_path_factory.mktemp("soak"), seed=1, interrupts=100, crowd=10)
    yield soak
    soak.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt inside a destructor
@pytest.mark.parametrize("kind", KINDS)
def test_a_round_loses_nothing(soak: Soak, kind: str) -> None:
    try:
        done = KINDS[kind](soak)
    except Skipped as reason:
        pytest.skip(str(reason))
    assert done.faults
    assert done.acknowledged
    assert done.lost == 0


# `make soak` strikes imports of every format in every way.
@pytest.mark.parametrize(
    ("format", "way"),
    [*list(zip(importing.SOURCES, cycle(importing.WAYS), strict=False))[:2], ("codex", "line by line")],
)
def test_an_import_that_was_struck_ends_as_one_that_was_not(soak: Soak, format: str, way: str) -> None:
    done = importing.strike_imports(soak, soak.file(), format, way)
    assert done.faults
    assert done.acknowledged


@pytest.mark.postgresql
def test_on_a_server_too(soak: Soak) -> None:
    try:
        where = soak.space()
    except Skipped as reason:
        pytest.skip(str(reason))
    assert importing.strike_imports(soak, where, "claude-code", "two at once").acknowledged


class TestTheCheckAfterARound:
    """It finds what it is there to find."""

    def test_an_import_that_stored_something_else_fails_it(self, soak: Soak) -> None:
        one, other = soak.file(), soak.file()
        with Store.open(other.target) as store:
            store.add_turn("beside it", continues="main")
        with pytest.raises(Failed, match=r"chatgpt: turns: lacks \[\], has beside it"):
            importing._compare("chatgpt", one, other)

    def test_a_turn_that_is_missing_or_altered_is_lost(self, soak: Soak) -> None:
        where = soak.file()
        with Store.open(where.target) as store:
            turn = store.add_turn("as it was", continues="main")
        said = {turn.id: "as it was not", "0" * 25: "never stored"}
        assert finish(soak, where, [Notes(said, [])], 1).lost == 2

    def test_an_error_that_the_trouble_does_not_explain_fails_it(self, soak: Soak) -> None:
        with pytest.raises(Failed, match="DatabaseCorrupt"):
            finish(soak, soak.file(), [Notes({}, ["DatabaseCorrupt: x"])], 1, "faults")

    def test_what_is_stored_twice_fails_it(self, soak: Soak) -> None:
        where = soak.file()
        with Store.open(where.target) as store:
            store.add_turn("root")
        with pytest.raises(Failed, match="twice"):
            finish(soak, where, [], 1)

    def test_a_damaged_row_fails_it(self, soak: Soak) -> None:
        where = soak.file()
        with sqlite3.connect(where.target) as connection:
            connection.execute("UPDATE turn SET role = 'system'")
        with pytest.raises(Failed, match="verify finds"):
            finish(soak, where, [], 1)


def test_a_missing_compiler_is_a_reason_to_skip(soak: Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Skipped, match="no C compiler: install one as cc"):
        rounds.compile_faults(soak.folder)


def test_without_a_mount_a_limit_on_files_takes_its_place(soak: Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = rounds.fill_the_disk(soak)
    assert done.how.startswith("RLIMIT_FSIZE of 1 MB, because mount cannot be run")
    assert (done.faults, done.lost) == (10, 0)
    assert done.acknowledged
