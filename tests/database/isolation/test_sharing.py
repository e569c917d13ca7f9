"""A tenant's space and another machine of the tenant's: the login may write in that space alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headish import Database, Store
from headish.errors import RoleMissing
from support.machines import Pair, machines, url_of
from support.secured import PASSWORD, Logins


@pytest.fixture
def pair(logins: Logins, tmp_path: Path) -> Iterator[Pair]:
    """Ana's space, and her laptop, which it has invited."""
    with machines(tmp_path) as make, Store.open(logins.at("ana"), space="ana", isolation="required") as ana:
        desk, laptop = make("desk", ana), make("laptop", space="ana")
        desk.add(url_of(tmp_path / "box"))
        with laptop as store:
            recipient = store.remotes.add("box", url_of(tmp_path / "box"), device=laptop.name).recipient or ""
        with desk:
            fingerprint = ana.remotes.invite("box", recipient)
        with laptop as store:
            store.remotes.set("box", key=fingerprint)
        yield desk, laptop


def test_a_space_is_shared_through_a_folder_until_a_machine_is_taken_out(pair: Pair, logins: Logins) -> None:
    desk, laptop = pair
    laptop.sync()
    with desk as ana:
        ana.remotes.set("box", erasures="ask")
        here = ana.add_turn("said here", bookmark="shared")
        assert ana.remotes.push("box").turns
    laptop.sync()
    there = laptop.store.add_turn("said there", continues=here.id)
    laptop.sync()
    with desk as ana:
        ana.remotes.pull("box")
        assert ana.text(there.id) == "said there"
    turns = [there, laptop.store.add_turn("more")]
    laptop.sync()
    desk.sync()
    for each in turns:
        laptop.store.erase(each.id, reason="asked to")
    laptop.sync()
    with desk as ana:
        ana.remotes.pull("box")
        waiting = {each.turns[0].id: each.id for each in ana.remotes.pending_erasures()}
        assert ana.remotes.dismiss_pending([waiting[there.id]]) == 1
        with pytest.raises(RoleMissing):
            ana.remotes.erase_pending()
        with Store.open(logins.url, space="ana") as owner:
            assert owner.remotes.erase_pending() == 1
        assert [ana.get(each.id).erased is None for each in turns] == [True, False]
        ana.remotes.revoke("box", "laptop")
        ana.remotes.remove("box")
        assert ana.remotes.list() == []
        assert ana.verify().problems == ()


def test_a_bundle_is_taken_from_a_space_and_applied_in_another(pair: Pair, logins: Logins, tmp_path: Path) -> None:
    ana = pair[0].store
    said = ana.add_turn("in a bundle", bookmark="bundled")
    ana.bundles.create(tmp_path / "one.hbundle", "bundled")
    with Store.open(logins.at("ben"), space="ben", isolation="required") as ben:
        ben.bundles.apply(tmp_path / "one.hbundle")
        assert ben.text(said.id) == "in a bundle"
        assert ben.verify().problems == ()


def test_a_space_answers_another_database(logins: Logins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with (
        Database.open(logins.at("ana"), create=False) as secured,
        Store.open(tmp_path / "laptop.db", space="ana") as laptop,
    ):
        laptop.remotes.add("desk", logins.at("ana").replace(f":{PASSWORD}@", "@"))
        said = laptop.add_turn("to a live remote", bookmark="live")
        laptop.remotes.push("desk")
        ana = secured.store("ana")
        assert ana.text(said.id) == "to a live remote"
        ana.bookmarks.set("from-there", said.id)
        laptop.remotes.pull("desk")
        assert "desk/from-there" in [each.name for each in laptop.remotes.bookmarks()]
        assert ana.verify().problems == ()
