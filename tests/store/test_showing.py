"""Reading in Python: the text of a turn, what a notebook shows, and plain data of every value."""

from __future__ import annotations

import json
import re

import pytest

from headish import Store, Turn
from headish.values.messages import ContextWindow
from support.growing import grow

HOSTILE = "<script>alert('x')</script>\u202e & \"quoted\""


@pytest.fixture
def talked(store: Store) -> Store:
    store.add_turn(HOSTILE, bookmark="main")
    thought = {"type": "thinking", "text": "my secret reasoning"}
    call = {"type": "tool_use", "id": "c", "name": "<b>", "input": {}}
    store.add_turn([thought, {"type": "text", "text": "Yes."}, call], role="assistant", continues="main")
    return store


class TestText:
    def test_it_is_what_people_may_read(self, talked: Store) -> None:
        turn = talked.get("main")
        assert turn.text == "Yes."
        assert [block.__struct_config__.tag for block in turn.content] == ["thinking", "text", "tool_use"]
        assert [each.text for each in talked.log("main")] == ["Yes.", HOSTILE]

    def test_a_turn_that_no_store_read_has_none(self, talked: Store) -> None:
        turn = talked.get("main")
        with pytest.raises(LookupError, match="was not read from a store"):
            _ = Turn(turn.id, turn.hash, turn.digest, turn.seal, turn.meta).text


class TestReprs:
    def test_they_are_short_and_show_the_words(self, talked: Store) -> None:
        talked.add_turn("long " * 500, continues="main")
        for value in (talked.thread("main")[-1], talked.tree("main")[-1], talked.resolve("main").messages[-1]):
            assert "long long" in repr(value)
            assert len(repr(value)) < 140
        assert "\u202e" not in repr(talked.resolve("main"))
        assert len(repr(talked.resolve("main"))) < 400

    def test_a_notebook_gets_nothing_but_text(self, talked: Store) -> None:
        shown = (talked.get("main"), talked.get("main~1"), talked.thread("main"), talked.tree("main"),
                 talked.resolve("main"), talked.resolve("main").messages[0])  # fmt: skip
        for value in shown:
            html = value._repr_html_()
            assert set(re.findall(r"</?(\w+)", html)) == {"div", "b"}
            assert "<b>)" not in html
            assert "\u202e" not in html
            assert "secret" not in html
            assert " color:" not in html
            assert "background" not in html
        assert "&lt;script&gt;" in talked.thread("main")._repr_html_()

    def test_of_a_long_thread_the_middle_is_left_out(self, store: Store) -> None:
        store.add_turns({"content": f"turn {index}.", "respond": index > 0} for index in range(300))
        for value in (store.thread(), store.tree(), store.resolve()):
            html = value._repr_html_()
            assert "⋮ 200 more" in html
            assert all(words in html for words in ("turn 0.", "turn 299."))
            assert "turn 100." not in html

    def test_a_tree_is_indented_where_it_branches(self, store: Store) -> None:
        grow(store, "q? <- a, q? <- b")
        assert re.findall(r"\.4em (\d)em", store.tree()._repr_html_()) == ["0", "0", "2"]


class TestPlainData:
    def test_every_value_gives_it_and_json_takes_it(self, talked: Store) -> None:
        talked.objects.put("kind", "key", b"\xff")
        talked.pointers.set("local", "openai/m")
        page = talked.conversations.list()
        values = [
            talked.get("main"), talked.get("main").meta, talked.resolve("main"), *talked.resolve("main").messages,
            talked.thread("main"), talked.tree("main"), *talked.bookmarks.list(), *talked.bookmarks.history("main"),
            talked.record([{"role": "user", "content": "x"}]), page, *page.entries, talked.conversations.get("main"),
            talked.objects.get("kind", "key"), *talked.pointers.list(), talked.stats(), talked.verify(),
            *talked.usage("main"), talked.request("main", "openai"), *talked.lint("main", "openai"),
        ]  # fmt: skip
        for value in values:
            assert value is not None
            assert json.loads(json.dumps(value.to_dict())) is not None, value
        assert isinstance(talked.resolve("main"), ContextWindow)
