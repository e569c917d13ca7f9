"""Verify what is kept of other stores: arrivals, remotes, their bookmarks and their erasures."""

from __future__ import annotations

from pathlib import Path

import pytest

from headish import Store
from support.insides import run_sql
from support.loops import failing
from support.machines import invite, machines, url_of

DAMAGE = {
    "UPDATE arrival SET last = last - 1": "arrival",
    "UPDATE arrival SET by = x'41'": "arrival",
    "UPDATE arrival SET remote = NULL": "arrival",
    "UPDATE arrival SET milliseconds = 1": "arrival",
    "UPDATE arrival SET last = last + 9": "space",
    "DELETE FROM arrival": "bookmark main",
    "UPDATE counter SET latest = 1": "space",
    "UPDATE remote SET url = x'41'": "remote box",
    "UPDATE remote SET settings = x'7b7d'": "remote box",
    "UPDATE remote SET state = x'7b7d'": "remote box",
    "UPDATE remote_bookmark SET turn = NULL": "bookmark desk/main",
    "UPDATE remote_bookmark SET record = x'41'": "bookmark desk/main",
    "UPDATE remote_bookmark SET device = x'41'": "bookmark A/main",
    "UPDATE notice SET state = 'ignored'": "of another store",
    "UPDATE notice SET receipt = x'41'": "of another store",
    "UPDATE turn SET key = NULL WHERE key = x'6f776e'": "turn",
}


@pytest.mark.slow
def test_every_row_that_is_altered_is_named(tmp_path: Path) -> None:
    with machines(tmp_path) as make:
        desk, laptop = make("desk"), make("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        gone = desk.store.add_turn("gone", bookmark="main")
        desk.store.add_turn("stays", continues="main")
        desk.store.conversations.set("main", title="one")
        for each in (desk, laptop):
            each.sync()
        desk.store.erase(gone.id, reason="r")
        for each in (desk, laptop):
            each.sync()
        laptop.store.add_turn("own", key="own")
        assert laptop.store.verify().problems == ()
        laptop.store.close()

    def check(statement: str) -> None:
        damaged = tmp_path / "damaged.db"
        damaged.write_bytes((tmp_path / "laptop.db").read_bytes())
        with Store.open(damaged) as store:
            run_sql(store, statement)
            found = store.verify().problems
        assert any(DAMAGE[statement] in each.subject for each in found), found

    assert failing(list(DAMAGE), check) == {}
