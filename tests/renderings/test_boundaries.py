"""Pages of threads with overlays: what is hidden from people does not leave, and a line says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headish import Store
from support.growing import grow


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        grow(opened, "alpha? <- bravo <- charlie? <- delta <- echo?")
        opened.bookmarks.set("main", "@")
        yield opened


@pytest.mark.parametrize("format", ["html", "markdown", "text"])
class TestAPage:
    def test_shows_what_a_summary_stands_for_below_a_line(self, store: Store, format: str) -> None:
        store.summarize("main~3", "main~1", "in short")
        page = store.render("main", format)
        assert page.index("The model sees a summary instead of the next 3 turns.") < page.index("bravo")
        assert "in short" not in page
        assert "in short" in store.render("main", format, debug=True)

    def test_leaves_out_what_is_hidden_from_people_but_for_a_line(self, store: Store, format: str) -> None:
        store.hide("main~3", "main~2", viewer="people")
        page = store.render("main", format)
        assert "2 turns are hidden here." in page
        assert "bravo" not in page
        assert "charlie" not in page
        assert "bravo" in store.render("main", format, debug=True)

    def test_says_nothing_of_a_turn_that_is_stored_hidden_from_people(self, store: Store, format: str) -> None:
        before = store.render("main", format)
        tip = store.get("main").id
        store.add_turn("secret", continues="main", attributes={"hidden": "people"})
        after = store.render("main", format)
        assert after.replace(store.get("main").id, tip) == before

    def test_shows_the_words_that_replace_others(self, store: Store, format: str) -> None:
        store.replace("main~1", "better")
        page = store.render("main", format)
        assert "better" in page
        assert "delta" not in page
        assert "Other words replace the next turn." in page

    def test_with_branches_hides_on_each_what_is_hidden_there(self, store: Store, format: str) -> None:
        store.add_turn("foxtrot", continues="main~1", bookmark="other")
        store.hide("other", viewer="people")
        page = store.render("main", format, branches=True)
        assert "foxtrot" not in page
        assert "delta" in page


def test_a_title_tells_nothing_that_is_hidden(store: Store) -> None:
    store.hide("main~4", viewer="people")
    assert "<title>charlie?</title>" in store.render("main", "html")
