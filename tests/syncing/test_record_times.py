"""What two devices say of a conversation is the same on both in the end, in every order of changes and syncs, and with
clocks that differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish.values.results.conversations import Record
from support.loops import failing
from support.machines import CutOff, Machine, cut_off, machines, url_of

HOUR = 3_600_000
YEAR = 365 * 24 * HOUR
ORDERS = [order for size in range(4) for order in product("AB", repeat=size)]
Clock = Callable[[str], Any]


def saying(each: Machine) -> Record:
    return each.store.conversations.get("main").record


@contextmanager
def clocks(behind: dict[str, int]) -> Iterator[Clock]:
    """What sets the clock to that of a device: this one's, behind by some milliseconds. Each look at it is one
    millisecond later than the one before, so that no two changes are at one time."""
    true, looks = time.time_ns, [0]

    def clock(device: str) -> None:
        def now() -> int:
            looks[0] += 1
            return true() + (looks[0] - behind[device]) * 1_000_000

        patch.setattr(time, "time_ns", now)

    with pytest.MonkeyPatch.context() as patch:
        yield clock


@contextmanager
def two(folder: Path, behind: int = 0) -> Iterator[tuple[dict[str, Machine], Callable[..., Any], Callable[..., Any]]]:
    """Desk A and laptop B that have a conversation: the machines, what says something at one, and what syncs one."""
    folder.mkdir()
    with machines(folder) as make, clocks({"A": 0, "B": behind}) as clock:
        both = {"A": make("desk"), "B": make("laptop")}
        both["A"].store.add_turn("q", bookmark="main")
        for each in both.values():
            each.add(url_of(folder / "box"), plain=True)
            each.sync()

        def say(device: str, **fields: Any) -> Record:
            clock(device)
            return both[device].store.conversations.set("main", **fields).record

        def sync(devices: str) -> None:
            for each in devices:
                clock(each)
                both[each].sync()

        yield both, say, sync


def check_same(both: dict[str, Machine], expected: Record) -> None:
    assert [saying(each) for each in both.values()] == [expected] * 2
    assert [each.store.verify().problems for each in both.values()] == [(), ()]


@pytest.mark.slow
@pytest.mark.parametrize("tags", [["a"], ["c", "a"]])
def test_a_tag_that_was_removed_stays_so_in_every_order_of_syncs(tmp_path: Path, tags: list[str]) -> None:
    cases = [each for each in product("AB", ORDERS, "AB", ORDERS) if _has_read(each[1], each[2], each[0])]
    cases = [each for each in cases if len(each[3]) < 2]
    assert len(cases) == 120
    assert failing([(tmp_path, tags, *each) for each in cases], _check_removed) == {}


def _has_read(order: tuple[str, ...], reader: str, writer: str) -> bool:
    return reader == writer or (writer in order and reader in order[order.index(writer) :])


def _check_removed(
    folder: Path, tags: list[str], writer: str, order: tuple[str, ...], changer: str, then: tuple[str, ...]
) -> None:
    with two(folder / "-".join((writer, "".join(order), changer, "".join(then)))) as (both, say, sync):
        say(writer, tags=["a", "b"])
        sync("".join(order))
        expected = say(changer, tags=tags)
        sync("".join((*then, "ABAB")))
        check_same(both, expected)


class TestOneFieldBesideAnother:
    """A device that knows only an old value of a field, and has changed another one since."""

    @pytest.mark.parametrize("old", [{"title": "T"}, {"tags": ["a", "b"]}, {"archived": True}, {"app": {"a": 1}}])
    def test_does_not_bring_the_old_one_back(self, tmp_path: Path, old: dict[str, Any]) -> None:
        empty = {"title": None, "tags": [], "archived": False, "app": None}
        with two(tmp_path / "two") as (both, say, sync):
            say("A", **old)
            sync("AB")
            say("A", **{field: empty[field] for field in old})
            say("B", pinned=True)
            sync("BABA")
            check_same(both, Record(pinned=True))

    def test_a_tag_that_another_device_added_again_is_there(self, tmp_path: Path) -> None:
        with two(tmp_path / "two") as (both, say, sync):
            say("A", tags=["a", "b"])
            sync("AB")
            say("A", tags=["a"])
            sync("AB")
            say("B", tags=["a", "b"])
            sync("BABA")
            check_same(both, Record(tags=("a", "b")))

    def test_tags_that_both_added_are_there(self, tmp_path: Path) -> None:
        with two(tmp_path / "two") as (both, say, sync):
            say("A", tags=["a", "b"])
            say("B", tags=["c"])
            sync("ABAB")
            say("A", tags=["b", "c", "d"])
            say("B", tags=["a", "b", "e"])
            sync("ABAB")
            check_same(both, Record(tags=("b", "d", "e")))


@pytest.mark.parametrize("behind", [HOUR, -HOUR, 40 * YEAR, -40 * YEAR])
def test_the_last_change_counts_although_clocks_differ(tmp_path: Path, behind: int) -> None:
    for first, second in ("AB", "BA"):
        with two(tmp_path / f"{first}{second}", behind) as (both, say, sync):
            say(first, title="one", tags=["a"], pinned=True)
            sync("ABAB")
            say(second, title="two", tags=["b"], pinned=False)
            sync("ABAB")
            expected = say(first, title="three", tags=["a"])
            sync("BABAB")
            check_same(both, expected)


@pytest.mark.parametrize("behind", [HOUR, -HOUR])
def test_titles_that_both_gave_are_one_in_the_end_although_clocks_differ(tmp_path: Path, behind: int) -> None:
    """Which of two is later cannot be told then, but both devices choose the same."""
    for order in (*product("AB", repeat=3), *product("AB", repeat=4)):
        with two(tmp_path / "".join(order), behind) as (both, say, sync):
            say("A", title="one")
            sync("AB")
            for number, each in enumerate(order):
                say(each, title=f"{number}", tags=[f"{number}"])
                sync(each)
            sync("ABAB")
            check_same(both, saying(both["A"]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "database"])
def test_any_changes_and_syncs_are_the_same_in_the_end(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=20, deadline=None)
    @given(data=st.data())
    def converge(data: st.DataObject) -> None:
        _converge(data, tmp_path_factory.mktemp("any"), is_live=kind == "database")

    converge()


SAID = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from([None, "T", "U"]),
        "tags": st.lists(st.sampled_from("abc"), unique=True),
        "pinned": st.booleans(),
        "app": st.sampled_from([None, {"a": 1}]),
    },
)


def _converge(data: st.DataObject, folder: Path, *, is_live: bool) -> None:
    skews = st.sampled_from([0, HOUR, -HOUR, HOUR // 2])
    with machines(folder) as make, clocks({name: data.draw(skews) for name in "ABC"}) as clock:
        three = {name: make(name) for name in "ABC"}

        def sync(names: str) -> None:
            for name in names:
                clock(name)
                with suppress(CutOff), cut_off(data.draw(CUTS)):
                    three[name].sync(create=is_live)

        three["A"].store.add_turn("q", bookmark="main")
        for each in three.values():
            options = {} if is_live else {"plain": True}
            each.add(str(folder / "box.db") if is_live else url_of(folder / "box"), **options)
            each.sync(create=is_live)
        for name in data.draw(st.lists(st.sampled_from("ABC"), max_size=10)):
            clock(name)
            three[name].store.conversations.set("main", **data.draw(SAID))
            sync("".join(data.draw(st.lists(st.sampled_from("ABC"), max_size=3))))
        for name in "ABCABCABC":
            clock(name)
            three[name].sync()
        records = [saying(each) for each in three.values()]
        assert records == [records[0]] * 3
        last = [three[name].sync() for name in "ABC"]
        assert [(each.pulled.records, each.pushed.objects) for each in last] == [(0, 0)] * 3
        assert [each.store.verify().problems for each in three.values()] == [()] * 3


CUTS = st.one_of(st.just(10_000), st.integers(0, 20))
"""After how many moments a sync is cut off: nearly half of them are."""
