"""Messages: the turns of a thread as they are stored, each with what it says; the whole of it, or its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import CorruptTurn, InvalidArgument, UnknownTurn
from support.growing import grow
from support.insides import counted_statements, run_sql
from support.places import FilePlace, Place

DRAWING = "q? <- a <- r?, q? <- b, b + r? <- end, r? <- elsewhere"


def said(store: Store, headish: str = "@", limit: int | None = None) -> list[str]:
    return [message.text for _, message in store.messages(headish, limit=limit)]


class TestWhatIsGiven:
    def test_every_turn_of_the_walk_with_its_message(self, store: Store) -> None:
        end = grow(store, DRAWING)["end"]
        found = store.messages(end.id)
        assert tuple(message for _, message in found) == store.resolve(end.id).messages
        assert [turn for turn, _ in found] == store.log(end.id)[::-1]
        assert [turn.meta for turn, _ in found] == [store.get(turn.id).meta for turn, _ in found]
        assert [message.turn for _, message in found] == [turn.id for turn, _ in found]

    def test_what_a_turn_keeps_beside_its_message_is_there(self, store: Store) -> None:
        store.add_turn("q", meta={"a": 1}, inherited={"t": 1}, key="k", attributes={"speaker": "Ada"}, cache=True)
        [(turn, message)] = store.messages()
        assert (turn.meta.app, turn.meta.key, turn.options) == ({"a": 1}, "k", {"t": 1})
        assert (message.cache, message.attributes.speaker) == (True, "Ada")

    def test_large_payloads_and_documents_too(self, store: Store) -> None:
        store.add_turn("x" * 5000, bookmark="main")
        store.add_document(b"y" * 5000, name="a.txt", continues="main")
        assert tuple(message for _, message in store.messages("main")) == store.resolve("main").messages

    def test_what_was_cut_off_is_not_left_out(self, store: Store) -> None:
        call = {"type": "tool_use", "id": "1", "name": "f", "input": {}, "raw": '{"a', "partial": True}
        store.add_turn(["text", call], role="assistant")
        [(_, message)] = store.messages()
        assert len(message.content) == 2 > len(store.resolve().messages[0].content)

    def test_what_is_unknown_is_refused(self, store: Store) -> None:
        with pytest.raises(UnknownTurn):
            store.messages("nowhere")


class TestTheEnd:
    @given(limit=st.integers(0, 9))
    def test_it_is_the_end_of_the_whole(self, place: Place, limit: int) -> None:
        with place.fresh() as store:
            end = grow(store, DRAWING)["end"].id
            whole = store.messages(end)
            assert store.messages(end, limit=limit) == whole[len(whole) - min(limit, len(whole)) :]

    def test_a_limit_counts_from_nothing(self, store: Store) -> None:
        store.add_turn("q")
        assert store.messages(limit=0) == []
        with pytest.raises(InvalidArgument, match="limit"):
            store.messages(limit=-1)

    def test_it_takes_as_many_statements_in_a_long_thread_as_in_a_short_one(self, store: Store) -> None:
        counts = []
        for length in (10, 1000):
            store.add_turns({"content": str(n), "continues": n - 1 if n else None} for n in range(length))
            store.bookmarks.set(f"b{length}", "@")
            with counted_statements() as counted:
                assert said(store, f"b{length}", 3) == [str(n) for n in range(length - 3, length)]
            counts.append(counted.count)
            with counted_statements() as counted:
                assert len(store.messages(f"b{length}")) == length
            counts.append(counted.count)
        assert counts[:2] == counts[2:]
        assert max(counts) <= 6


@pytest.mark.parametrize(
    "damage",
    ["UPDATE turn SET data = CAST('[]' AS BLOB) WHERE pos = 1", "DELETE FROM turn WHERE pos = 1",
     "UPDATE turn SET data = NULL WHERE pos = 1"],
)  # fmt: skip
def test_damage_is_named(file_place: FilePlace, damage: str) -> None:
    store = file_place.open()
    grow(store, "a? <- b <- c?")
    run_sql(store, damage)
    with pytest.raises(CorruptTurn):
        store.messages("@", limit=2)
    if "DELETE" not in damage:
        assert said(store, "@", 1) == ["c?"]
