"""The turns of a session: nothing is lost among writers, a pop takes what it returns, and what is dropped is gone as
far as it says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headish import Store
from headish.adapters import healing, hiding
from headish.adapters.hiding import HidesOnly, check_erase, erases
from headish.adapters.sessions import drop, name_of, pop, read_unknown, session_of
from headish.errors import InvalidArgument, UnknownBookmark
from headish.rows.threads.ranges import SpokenTurn
from support.growing import grow
from support.insides import counted_statements
from support.places import Place
from support.sessions import MAIN, add_and_pop, put, text_of, texts
from support.workers import run_together

ODD_IDS = [
    "",
    "a b",
    "line\nbreak",
    "😀",
    "x" * 10_000,
    "'; DROP TABLE turn; --",
    "half \ud800",
    "03ha79v2utz1lnj57nod1ahjl",
]


class TestASession:
    @pytest.mark.parametrize("text", ODD_IDS, ids=lambda text: repr(text)[:12])
    def test_has_any_text_as_its_id(self, store: Store, text: str) -> None:
        session = session_of(text)
        put(store, session, "one", "two")
        put(store, session, "three")
        assert texts(store, session) == ["one", "two", "three"]
        record = store.conversations.get(session.name).record
        assert record.key == text or record.app == {"id": healing.heal_text(text)[0]}
        assert store.verify().problems == ()

    def test_gives_its_last_turns(self, store: Store) -> None:
        put(store, MAIN, *"abcdef")
        assert [texts(store, MAIN, limit) for limit in (0, 1, 4, 9)] == [[], ["f"], [*"cdef"], [*"abcdef"]]

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 10**30])
    def test_gives_the_ids_of_its_last_turns_that_are_known(self, store: Store, limit: int) -> None:
        put(store, MAIN, *"ab")
        store.add_turn("c", continues="main~1", bookmark="main", force=True)  # a chain of its own
        put(store, MAIN, "d")
        ids = [each.id for each in store.log("main")][::-1]
        assert len(ids) == 3
        assert read_unknown(store, MAIN, limit, dict.fromkeys(ids).keys()) == ids[-limit:]
        said = read_unknown(store, MAIN, limit, dict.fromkeys([*ids[:-1], "other", "another"]).keys())
        assert [each if isinstance(each, str) else each.id for each in said] == ids[-limit:]
        assert isinstance(said[-1], SpokenTurn)

    def test_gives_no_id_of_what_was_erased(self, store: Store) -> None:
        put(store, MAIN, *"abc")
        ids = [each.id for each in store.log("main")][::-1]
        store.erase("main~1", reason="asked")
        said = read_unknown(store, MAIN, 2, dict.fromkeys(ids).keys())
        assert [each for each in said if isinstance(each, str)] == []
        assert [text_of(each) for each in said if isinstance(each, SpokenTurn)] == ["(erased)", "c"]

    def test_known_last_turns_take_one_statement(self, store: Store) -> None:
        put(store, MAIN, *"abc")
        ids = dict.fromkeys(each.id for each in store.log("main")).keys()
        with counted_statements() as statements:
            assert len(read_unknown(store, MAIN, 2, ids)) == 2
        assert statements.count == 1

    def test_that_is_empty_gives_nothing(self, store: Store) -> None:
        assert (texts(store), pop(store, MAIN), drop(store, MAIN), drop(store, MAIN, erase=True)) == (
            [],
            None,
            False,
            False,
        )
        assert name_of(store, MAIN) is None

    def test_goes_on_under_another_name(self, store: Store) -> None:
        put(store, MAIN, "a")
        store.bookmarks.rename("main", "holidays")
        put(store, MAIN, "b")
        assert (texts(store), name_of(store, MAIN)) == (["a", "b"], "holidays")

    def test_goes_on_with_a_conversation_that_has_its_id_as_key(self, store: Store) -> None:
        store.add_turn("imported", bookmark="tides")
        store.conversations.set("tides", key="chatgpt:1")
        put(store, session_of("chatgpt:1"), "new")
        assert [store.text(each.id) for each in store.log("tides")] == ["new", "imported"]

    def test_reads_through_forks(self, store: Store) -> None:
        grow(store, "a? <- b <- c?, b <- d?")
        store.bookmarks.set("main", store.heads()[0].id)
        put(store, MAIN, "e", "f")
        assert [texts(store, MAIN, limit) for limit in (None, 3)] == [["a?", "b", "d?", "e", "f"], ["d?", "e", "f"]]

    def test_keeps_a_large_item_beside_a_small_one(self, store: Store) -> None:
        large = "x" * 20_000_000
        put(store, MAIN, large, large + "y", "small")
        assert texts(store, MAIN, 2) == [large + "y", "small"]


class TestAPop:
    def test_takes_the_last_turn_and_gives_it(self, store: Store) -> None:
        put(store, MAIN, "a", "b", "c")
        assert [text_of(pop(store, MAIN)) for _ in range(4)] == ["c", "b", "a", None]
        put(store, MAIN, "d")
        assert texts(store) == ["d"]

    def test_hides_unless_it_is_to_erase(self, store: Store) -> None:
        put(store, MAIN, "a", "b", "c")
        pop(store, MAIN)
        assert text_of(pop(store, MAIN, erase=True)) == "b"
        stored = {store.text(each.id) if each.erased is None else None for each in store.turns()}
        assert stored == {"a", "c", None}

    def test_erases_one_after_the_other(self, store: Store) -> None:
        put(store, MAIN, "a", "b", "c")
        assert [text_of(pop(store, MAIN, erase=True)) for _ in range(3)] == ["c", "b", "a"]
        assert all(each.erased for each in store.turns())
        assert store.verify().problems == ()

    def test_leaves_what_a_fork_has(self, store: Store) -> None:
        put(store, MAIN, "a", "b")
        store.bookmarks.set("fork", "main")
        pop(store, MAIN, erase=True)
        assert texts(store, session_of("fork")) == ["a", "b"]


class TestADrop:
    def test_hides_unless_it_is_to_erase(self, store: Store) -> None:
        put(store, MAIN, "a", "b")
        assert drop(store, MAIN)
        assert texts(store) == []
        assert [store.text(each.id) for each in store.turns()] == ["a", "b"]

    def test_erases_what_was_popped_and_dropped_before(self, store: Store) -> None:
        put(store, MAIN, "a", "b")
        drop(store, MAIN)
        put(store, MAIN, "c", "d")
        pop(store, MAIN)
        put(store, MAIN, "e")
        store.conversations.set("main", title="private")
        assert drop(store, MAIN, erase=True)
        assert [each.erased is None for each in store.turns()] == [False] * 5
        put(store, MAIN, "anew")
        record = store.conversations.get("main").record
        assert (texts(store), record.title, record.key) == (["anew"], "", "main")
        assert store.verify().problems == ()

    def test_erases_what_was_popped_last(self, store: Store) -> None:
        put(store, MAIN, "a", "b", "c")
        pop(store, MAIN)
        drop(store, MAIN, erase=True)
        assert all(each.erased for each in store.turns())

    def test_leaves_copies_and_forks(self, store: Store) -> None:
        put(store, MAIN, "a", "b")
        store.bookmarks.set("fork", "main~1")
        put(store, MAIN, "c")
        drop(store, MAIN, erase=True)
        assert texts(store, session_of("fork")) == ["a"]
        assert sum(each.erased is None for each in store.turns()) == 1

    @pytest.mark.parametrize("order", [("main", "fork"), ("fork", "main")])
    def test_of_all_that_share_turns_leaves_none_in_any_order(self, store: Store, order: tuple[str, str]) -> None:
        put(store, MAIN, "a", "b")
        store.bookmarks.set("fork", "main~1")
        put(store, session_of("fork"), "c")
        for name in order:
            drop(store, session_of(name), erase=True)
        assert all(each.erased for each in store.turns())
        assert store.verify().problems == ()

    def test_leaves_no_name_behind_and_begins_anew(self, store: Store) -> None:
        put(store, MAIN, "a")
        store.conversations.set("main", title="private")
        drop(store, MAIN, erase=True)
        with pytest.raises(UnknownBookmark):
            store.bookmarks.history("main")
        put(store, MAIN, "b")
        assert len(store.bookmarks.history("main")) == 1
        assert store.conversations.get("main").record.key == "main"

    def test_of_a_name_that_is_gone_erases_too(self, store: Store) -> None:
        put(store, MAIN, "a")
        drop(store, MAIN)
        assert not drop(store, MAIN, erase=True)
        assert all(each.erased for each in store.turns())


class TestTwoWriters:
    def test_lose_nothing_and_keep_pairs_whole(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda at: put(store, MAIN, f"{at}a", f"{at}b"), range(40)))
        found = texts(store)
        assert sorted(map(str, found)) == sorted(f"{at}{half}" for at in range(40) for half in "ab")
        assert all(str(first)[:-1] == str(second)[:-1] for first, second in zip(found[::2], found[1::2], strict=True))

    def test_pop_each_turn_once_while_others_add(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            adding = [pool.submit(put, store, MAIN, str(at)) for at in range(60)]
            popping = [pool.submit(pop, store, MAIN) for _ in range(60)]
            popped = [text_of(each.result()) for each in popping]
            for each in adding:
                each.result()
        assert sorted(map(int, [*filter(None, popped), *map(str, texts(store))])) == list(range(60))

    @pytest.mark.slow
    def test_in_several_processes_lose_nothing(self, durable_place: Place) -> None:
        popped = [each for found in run_together(durable_place, add_and_pop, 4) for each in found]
        left = list(map(str, texts(durable_place.open())))
        assert sorted(popped + left) == sorted(f"{number}-{at}" for number in range(4) for at in range(20))


class TestErase:
    @pytest.mark.parametrize(
        ("erase", "deletes", "done"),
        [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
    )
    def test_turns_a_verb_round(
        self, monkeypatch: pytest.MonkeyPatch, erase: bool | None, deletes: bool, done: bool
    ) -> None:
        monkeypatch.setattr(hiding, "_said", {("Adapter", "verb")})
        assert erases(erase, "Adapter", "verb", deletes=deletes) is done

    def test_warns_once_of_what_only_hides(
        self, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
    ) -> None:
        monkeypatch.setattr(hiding, "_said", set())
        for _ in range(3):
            erases(None, "Adapter", "clear")
        assert [(each.category, str(each.message)[:21]) for each in recwarn] == [(HidesOnly, "Adapter.clear hides: ")]

    @pytest.mark.parametrize("erase", [0, "yes", 1])
    def test_is_true_false_or_none(self, erase: Any) -> None:
        with pytest.raises(InvalidArgument, match="erase is True, False or None"):
            check_erase(erase)


class TestHealing:
    def test_leaves_what_is_whole(self) -> None:
        value = {"a": ["😀", 1, None, {"b": "c"}]}
        assert healing.heal(value) == (value, False)
        assert healing.heal(value)[0] is value

    def test_replaces_halves_of_characters_in_keys_and_texts(self) -> None:
        assert healing.heal({"\ud800": ["x\udfff"]}) == ({"\ufffd": ["x\ufffd"]}, True)

    def test_looks_at_a_list_that_holds_itself_once(self) -> None:
        endless: list[object] = ["whole"]
        endless.append(endless)
        assert healing.heal(endless) == (endless, False)
