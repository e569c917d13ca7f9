"""What two devices say of a conversation is the same on both in the end, in every order of changes and syncs, and with
clocks that differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store
from headish.bundles.records import SentRecord
from headish.history.conversations import changing
from headish.history.conversations.times import change_timed, encode_timed
from headish.syncing import meeting
from headish.syncing.live import answering, moves
from headish.values.results.conversations import Record
from support.insides import run_sql
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

    @pytest.mark.parametrize("last", ["A", "B"])
    def test_of_two_orders_of_the_same_tags_the_later_one_stays(self, tmp_path: Path, last: str) -> None:
        with two(tmp_path / "two") as (both, say, sync):
            say("BA"["AB".index(last)], tags=["a", "b"])
            expected = say(last, tags=["b", "a"])
            say("A", pinned=True)
            sync("ABAB")
            check_same(both, Record(tags=expected.tags, pinned=True))

    def test_a_title_that_both_gave_is_no_change(self, tmp_path: Path) -> None:
        with two(tmp_path / "two") as (both, say, sync):
            for title in ("one", "same"):
                say("A", title=title)
            say("B", title="same")
            sync("ABAB")
            check_same(both, Record(title="same"))
            revisions = [each.store.conversations.get("main").revision for each in both.values()]
            assert revisions == [2, 1]

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


def test_no_time_that_arrives_is_the_last_one(tmp_path: Path) -> None:
    """A clock that is wrong by thousands of years, or somebody who says so, would end all changes."""
    with two(tmp_path / "two", -8_000 * YEAR) as (both, say, sync):
        say("B", title="x", tags=["x"])
        sync("A")
        both["B"].sync()  # by the clock of A: no head has such a time
        sync("A")
        assert saying(both["A"]).title == "x"
        expected = say("A", title="m", tags=["m"])
        sync("AA")
        assert saying(both["A"]) == expected
        with machines(tmp_path) as make:
            late = make("late")
            late.add(url_of(tmp_path / "two" / "box"), plain=True)
            late.sync()
            late.store.conversations.set("main", title="a")
            late.sync()
            sync("A")
            late.sync()
            assert [saying(each).title for each in (both["A"], late)] == ["a", "a"]


def test_of_many_removed_tags_the_oldest_are_forgotten(tmp_path: Path) -> None:
    with two(tmp_path / "two") as (both, say, sync):
        for number in range(250):
            say("A", tags=[f"{number}", "stays"])
        sync("AB")
        [row] = run_sql(both["B"].store, "SELECT data FROM conversation")
        times = msgspec.json.decode(row[0])["times"]["tags"]
        assert len(times) == 2 + 100
        say("B", tags=[f"{number}" for number in range(100)])
        sync("BAB")
        check_same(both, Record(tags=tuple(f"{number}" for number in range(100))))


def _without_times(records: Iterable[SentRecord]) -> list[SentRecord]:
    return [each for each in records if each.subject]


@contextmanager
def earlier_edition() -> Iterator[None]:
    """What runs here stores no times of fields, and reads and sends none; its changes have the time of the clock."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (changing, meeting):
            patch.setattr(module, "encode_timed", lambda timed: encode_timed(timed._replace(is_exact=False)))
        patch.setattr(changing, "change_timed", lambda *given: (change_timed(*given)[0], time.time_ns() // 1_000_000))
        for module in (meeting, answering):
            patch.setattr(module, "unpack_times", _without_times)
        yield


class TestAnEarlierEdition:
    def test_its_changes_are_merged_as_before(self, tmp_path: Path) -> None:
        with two(tmp_path / "two") as (both, say, sync):

            def earlier(work: Callable[[], object]) -> None:
                with earlier_edition():
                    work()

            say("A", title="T", tags=["a", "b"], pinned=True)
            sync("A")
            earlier(lambda: sync("B"))
            sync("A")
            earlier(lambda: say("B", archived=True))
            say("A", title="later", tags=["a", "b", "c"])
            earlier(lambda: say("B", tags=["a"]))
            for _ in range(2):
                earlier(lambda: sync("B"))
                sync("A")
            check_same(both, Record(title="later", tags=("a", "c"), archived=True, pinned=True))
            earlier(lambda: say("B", title=None))
            for _ in range(2):
                earlier(lambda: sync("B"))
                sync("A")
            check_same(both, Record(tags=("a", "c"), archived=True, pinned=True))
            [row] = run_sql(both["B"].store, "SELECT data FROM conversation")
            assert b"times" not in row[0]

    def test_a_change_after_what_was_read_counts_although_its_clock_is_behind(self, tmp_path: Path) -> None:
        with two(tmp_path / "two", HOUR) as (both, say, sync):
            say("A", title="T", tags=["a", "b"])
            sync("A")
            with earlier_edition():
                sync("B")
            sync("A")
            with earlier_edition():
                say("B", title="U", tags=["a"])
                sync("B")
            sync("A")
            assert saying(both["A"]) == Record(title="U", tags=("a",))

    def test_its_store_is_sent_a_record_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with machines(tmp_path) as make:
            desk = make("desk")
            desk.add(str(tmp_path / "box.db"))
            desk.store.add_turn("q", bookmark="main")
            for title in ("one", "two"):
                desk.store.conversations.set("main", title=title, tags=[title])
            monkeypatch.setattr(answering, "unpack_times", _without_times)
            desk.sync(create=True)
            for title in ("three", "four", "five"):
                desk.store.conversations.set("main", title=title)
                desk.sync()
                with Store.open(tmp_path / "box.db") as box:
                    assert box.conversations.get("main").record.title == title
            for _ in range(3):
                with Store.open(tmp_path / "box.db") as box:
                    box.add_turn("somebody else's")
                desk.store.add_turn("more", continues="main")
                desk.sync()
            with Store.open(tmp_path / "box.db") as box:
                found = box.conversations.get("main")
                [row] = run_sql(box, "SELECT data FROM conversation")
            assert (found.record, found.revision) == (Record(title="five", tags=("two",)), 5)
            assert row[0] == b'{"title":"five","tags":["two"]}'

    def test_its_changes_are_taken_by_a_store_that_answers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with machines(tmp_path) as make:
            desk, laptop = make("desk"), make("laptop")
            desk.store.add_turn("q", bookmark="main")
            for each in (desk, laptop):
                each.add(str(tmp_path / "box.db"))
            for title in ("one", "two"):
                desk.store.conversations.set("main", title=title)
            desk.sync(create=True)
            desk.store.conversations.set("main", title="three")
            with desk as store:
                store.remotes.push("box")  # what this device has sent need not be read first
            monkeypatch.setattr(moves, "unpack_times", _without_times)
            with earlier_edition():
                laptop.sync()
                assert saying(laptop).title == "three"
                laptop.store.conversations.set("main", title="four")
                laptop.sync()
            with Store.open(tmp_path / "box.db") as box:
                assert box.conversations.get("main").record.title == "four"


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
