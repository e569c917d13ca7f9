"""What a live sync costs: round trips and bytes, counted."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from headish import Store
from headish.bundles import live
from headish.syncing.live import conversation, ranges
from support.lines import Line, line_to
from support.machines import Machine, state


def both(desk: Machine, box: Store) -> tuple[Line, int]:
    """A sync, and how many turns moved."""
    with line_to(box) as line:
        done = desk.sync()
    return line, done.pulled.stored + done.pushed.turns


def bytes_of(line: Line) -> int:
    return line.pipes.out + line.pipes.back


def filled(machine: Callable[..., Machine], count: int) -> tuple[Machine, Store]:
    """Two stores of the same turns, of which neither knows."""
    desk, box = machine("desk"), machine("box").store
    desk.add("cmd:x")
    desk.store.add_turns({"content": f"turn {number}"} for number in range(count))
    desk.store.add_turn("named", bookmark="main")
    both(desk, box)
    with desk as store:
        store.remotes.remove("box")
    desk.add("cmd:x")
    return desk, box


class TestWhereACursorIsKnown:
    def test_nothing_new_is_one_round_trip_of_less_than_a_kilobyte(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk"), machine("box").store
        desk.add("cmd:x")
        desk.store.add_turn("here", bookmark="main")
        box.add_turn("there", bookmark="other")
        both(desk, box)
        for _ in range(2):  # also right behind a sync that moved turns and names on both sides
            line, moved = both(desk, box)
            assert (line.pipes.round_trips, moved) == (1, 0)
            assert bytes_of(line) < 1000

    def test_a_turn_on_each_side_takes_a_few(self, machine: Callable[..., Machine]) -> None:
        desk, box = filled(machine, 3000)
        both(desk, box)
        desk.store.add_turn("here", continues="main")
        box.add_turn("there", bookmark="other")
        line, moved = both(desk, box)
        # hello, which, pages; names; which, bundle; moves
        assert (line.pipes.round_trips, moved) == (7, 2)
        assert bytes_of(line) < 6000
        assert both(desk, box)[0].pipes.round_trips == 1


@pytest.mark.slow
class TestWhereNoCursorIs:
    """Ranges: the count of round trips is that of a tree whose nodes have 16 children, two levels for each."""

    def test_equal_stores_take_a_hash(self, machine: Callable[..., Machine]) -> None:
        desk, box = filled(machine, 3000)
        line, moved = both(desk, box)
        # hello, receipts, the whole range, names
        assert (line.pipes.round_trips, moved) == (4, 0)
        assert bytes_of(line) < 2000

    def test_what_is_new_lies_together(self, machine: Callable[..., Machine]) -> None:
        desk, box = filled(machine, 8000)
        for store, name in ((desk.store, "here"), (box, "there")):
            store.add_turns({"content": f"{name} {number}"} for number in range(50))
        asked: list[int] = []
        answered: list[int] = []
        with line_to(box) as line, desk as store:
            find = conversation.find_different

            def counted(backend, space, ask, name):  # type: ignore[no-untyped-def]
                def ask_counted(part):  # type: ignore[no-untyped-def]
                    before = bytes_of(line)
                    answers = ask(part)
                    answered.append(bytes_of(line) - before)
                    asked.append(len(part))
                    return answers

                return find(backend, space, ask_counted, name)

            conversation.find_different = counted
            try:
                store.remotes.exchange("box")
            finally:
                conversation.find_different = find
        assert state(desk.store) == state(box)
        # 8,000 / 16 / 16 = 32: the whole, then parts of parts
        assert len(asked) == 2
        assert sum(answered) < 60 * 1024 * 100 / 1000

    def test_scattered_differences_are_found_too(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk"), machine("box").store
        chance = Random(7)
        for number in range(3000):
            for store in chance.sample([desk.store, box], 1 if number % 100 == 0 else 2):
                store.add_turn(f"turn {number}")
        desk.add("cmd:x")
        both(desk, box)
        assert {each.id for each in desk.store.turns()} == {each.id for each in box.turns()}
        assert both(desk, box)[1] == 0

    def test_more_differences_than_are_held_go_by_the_list(
        self, machine: Callable[..., Machine], monkeypatch: object
    ) -> None:
        desk, box = filled(machine, 500)
        desk.store.add_turns({"content": f"here {number}"} for number in range(300))
        box.add_turns({"content": f"there {number}"} for number in range(300))
        monkeypatch.setattr(ranges, "DIFFERENT_LIMIT", 100)  # type: ignore[attr-defined]
        _, moved = both(desk, box)
        assert moved == 600
        assert state(desk.store) == state(box)

    def test_a_store_that_has_nothing_is_sent_all(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk"), machine("box").store
        box.add_turns({"content": f"turn {number}"} for number in range(live.LISTED_AT_ONCE + 100))
        desk.add("cmd:x")
        _line, moved = both(desk, box)
        assert moved == live.LISTED_AT_ONCE + 100
        assert state(desk.store) == state(box)
