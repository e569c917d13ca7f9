"""A title or tag that was cleared or changed stays so, whether or not the other device had read the record before."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.loops import failing
from support.machines import machines, url_of

SET = {"title": "T", "archived": True, "pinned": True, "key": "k", "app": {"a": 1}, "tags": ["a", "b"]}
LAST: list[dict[str, Any]] = [
    {"title": None, "archived": False, "pinned": False, "key": None, "app": None, "tags": []},
    {"title": "U", "archived": False, "pinned": False, "key": "other", "app": {"b": 2}, "tags": ["a"]},
]
ORDERS = [order for size in range(4) for order in product("AB", repeat=size)]


def _has_read(order: tuple[str, ...], reader: str, writer: str) -> bool:
    return reader == writer or (writer in order and reader in order[order.index(writer) :])


@pytest.mark.slow
@pytest.mark.parametrize("last", LAST)
def test_the_last_change_counts_in_every_order_of_syncs(tmp_path: Path, last: dict[str, Any]) -> None:
    cases = [each for each in product("AB", ORDERS, "AB") if _has_read(each[1], each[2], each[0])]
    assert len(cases) == 40
    assert failing([(tmp_path, last, *each) for each in cases], _check_last) == {}


def _check_last(folder: Path, last: dict[str, Any], writer: str, order: tuple[str, ...], changer: str) -> None:
    folder = folder / "".join((writer, "-", *order, "-", changer))
    folder.mkdir()
    with machines(folder) as make:
        both = {"A": make("desk"), "B": make("laptop")}
        both["A"].store.add_turn("q", bookmark="main")
        for each in both.values():
            each.add(url_of(folder / "box"), plain=True)
            each.sync()
        both[writer].store.conversations.set("main", **SET)
        for each in order:
            both[each].sync()
        time.sleep(0.002)  # which of two records is later is told in milliseconds
        expected = both[changer].store.conversations.set("main", **last).record
        for each in "ABAB":
            both[each].sync()
        assert [each.store.conversations.get("main").record for each in both.values()] == [expected] * 2
        assert [each.store.verify().problems for each in both.values()] == [(), ()]


def test_a_key_that_another_conversation_has_there_is_not_cleared(tmp_path: Path) -> None:
    with machines(tmp_path) as make:
        desk, laptop = make("desk"), make("laptop")
        laptop.store.add_turn("of the laptop", bookmark="other")
        laptop.store.conversations.set("other", key="k")
        desk.store.add_turn("of the desk", bookmark="main")
        desk.store.conversations.set("main", key="k")
        for each in (desk, laptop):
            each.add(url_of(tmp_path / "box"), plain=True)
        for each in (desk, laptop, desk, laptop, desk):
            each.sync()
        keys = [
            [each.store.conversations.get(name).record.key for name in ("main", "other")] for each in (desk, laptop)
        ]
        assert keys == [["k", None], [None, "k"]]
