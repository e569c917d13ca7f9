"""A bookmark that another device has, too: how it stands there, on its page, and the ways out where both went apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headish import Store
from support.chrome import needs_chromedriver
from support.looking import Looking
from support.machines import Machine, state
from support.serving import Served, serving


class Desk(NamedTuple):
    """A desk whose remote is the box, and a browser at the desk."""

    store: Store
    box: Store
    sync: Callable[[], Any]
    client: Any
    served: Served

    def page(self, name: str = "main") -> str:
        answer = self.client.get(f"/c/{name}")
        assert answer.status_code == 200, answer.text[:300]
        return str(answer.text)

    def do(self, action: str, **fields: Any) -> Any:
        return self.client.post(f"/do/{action}", data=fields)

    def outcomes(self, name: str = "main") -> list[tuple[str, str]]:
        return [(each.name, each.outcome) for each in self.store.remotes.elsewhere(name)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store.open(tmp_path / "desk.db") as store, Store.open(tmp_path / "box.db") as box:
        machine = Machine(store, tmp_path / "keys", "desk")
        machine.add(str(tmp_path / "box.db"))
        with serving(tmp_path / "desk.db", tmp_path / "state") as served, served.client() as client:
            client.headers |= {"accept": "text/html", "origin": served.url}
            yield Desk(store, box, machine.sync, client, served)


@pytest.fixture
def apart(desk: Desk) -> Desk:
    """Both have said something else after the same question."""
    desk.store.add_turn("asked <b>", bookmark="main")
    desk.sync()
    desk.store.add_turn("said at the desk", continues="main", role="assistant")
    desk.box.add_turn("said at the box", continues="main", role="assistant")
    desk.sync()
    return desk


def test_how_a_name_stands_elsewhere(desk: Desk) -> None:
    assert desk.outcomes() == []
    desk.store.add_turn("asked", bookmark="main")
    assert desk.outcomes() == []
    desk.sync()
    assert desk.outcomes() == [("box/main", "same")]
    assert "is here too" in desk.page()
    desk.store.add_turn("more", continues="main", role="assistant")
    assert desk.outcomes() == [("box/main", "ahead")]
    assert "is behind" in desk.page()
    desk.store.bookmarks.undo("main", 1)
    desk.sync()
    desk.box.add_turn("more at the box", continues="main", role="assistant")
    desk.sync()
    desk.store.bookmarks.undo("main", 1)
    assert desk.outcomes() == [("box/main", "moved")]
    page = desk.page()
    assert "goes on" in page
    assert 'class="apart"' not in page
    desk.store.bookmarks.remove("main")
    assert desk.outcomes() == []


def test_a_page_shows_what_went_apart_and_the_ways_out(apart: Desk) -> None:
    assert apart.outcomes() == [("box/main", "diverged")]
    [there] = apart.store.remotes.elsewhere("main")
    here = apart.store.bookmarks["main"]
    page = apart.page()
    assert page.count('class="apart"') == 1
    assert f'href="/diff/{here}..{there.turn}"' in page
    assert f'name="also-{there.turn}"' in page
    assert apart.client.get(f"/diff/{here}..{there.turn}").status_code == 200
    assert "said at the box" in apart.client.get(f"/t/{there.turn}").text
    assert 'class="apart"' not in apart.client.get(f"/t/{here}").text, "an id has no name elsewhere"
    assert 'class="apart"' not in apart.page("main~1"), "nor has a turn that is counted back"


def test_a_name_moves_to_where_a_device_has_it(apart: Desk) -> None:
    [there] = apart.store.remotes.elsewhere("main")
    here = apart.store.bookmarks["main"]
    answer = apart.do("take", name="main", turn=there.turn, head=here)
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/main")
    assert apart.store.bookmarks["main"] == there.turn
    assert apart.outcomes() == [("box/main", "same")]
    again = apart.do("take", name="main", turn=here, head=here)
    assert again.status_code == 412, "the name is not where that page showed it"
    assert apart.store.bookmarks["main"] == there.turn


@pytest.mark.slow
@needs_chromedriver
@pytest.mark.xdist_group("browser")
def test_a_person_moves_the_name_there(apart: Desk, looking: Looking) -> None:
    at_desk = looking._replace(served=apart.served, store=apart.store)
    at_desk.open(f"/login?code={apart.served.logins.make_code()}")
    at_desk.open("/c/main")
    assert "said at the desk" in at_desk.text("#thread")
    assert "box/main and this conversation went apart." in at_desk.text(".apart")
    at_desk.find(".apart form[action='/do/take'] button").click()
    at_desk.until(lambda: "said at the box" in at_desk.text("#thread"))
    assert "said at the desk" not in at_desk.text("#thread")
    assert at_desk.text(".apart") == ""
    assert "box/main is here too" in at_desk.text(".facts")
    assert at_desk.reports() == []
    assert apart.outcomes() == [("box/main", "same")]


def test_a_turn_continues_both(apart: Desk) -> None:
    [there] = apart.store.remotes.elsewhere("main")
    here = apart.store.bookmarks["main"]
    answer = apart.do("say", name="main", turn=here, content="go on from both", **{f"also-{there.turn}": "1"})
    assert answer.status_code == 303, answer.text[:300]
    joined = apart.store.get("main")
    assert joined.meta.continues == (here, there.turn)
    assert apart.outcomes() == [("box/main", "ahead")]
    apart.sync()
    assert state(apart.store) == state(apart.box)


def test_a_reader_is_shown_no_way_out(apart: Desk, tmp_path: Path) -> None:
    with serving(tmp_path / "desk.db", tmp_path / "read", read_only=True) as served, served.client() as client:
        page = client.get("/c/main", headers={"accept": "text/html"}).text
        assert 'class="apart"' in page
        assert "/do/take" not in page
        assert "also-" not in page
