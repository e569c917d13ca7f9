"""A conversation moves into another space of its database: ids, seals and names stay, and nothing is stored twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from headish import Database, Store
from headish.errors import (
    BookmarkTaken,
    Closed,
    CorruptTurn,
    DatabaseCorrupt,
    InvalidArgument,
    KeyTaken,
    TurnTaken,
    UnknownConversation,
    UnknownSpace,
    UnknownTurn,
)
from support.dags import dags
from support.growing import grow, texts
from support.insides import counted_statements, run_sql, unchanged
from support.places import FilePlace, Place


@pytest.fixture
def spaces(place: Place) -> tuple[Store, Store]:
    """Two spaces of one database."""
    here = place.open("here")
    if place.target == ":memory:":
        Database(here._database).spaces.add("there")
        there = Database(here._database).store("there")
    else:
        there = place.open("there")
    return here, there


def refer_to(id: str) -> list[dict[str, object]]:
    """A result of a tool that refers to a document turn."""
    document = {"type": "document", "source": {"type": "turn", "turn": id}}
    return [{"type": "tool_result", "tool_use_id": id, "content": [document]}]


class TestWhatGoes:
    @given(parents=dags(largest=12))
    def test_a_copy_is_equal_and_in_order(self, place: Place, parents: list[list[int]]) -> None:
        with place.fresh() as here:
            database: Database = Database(here._database)
            name = f"to-{here.space}"
            there = database.store(name)
            ids = [
                turn.id
                for turn in here.add_turns(
                    {"content": str(index), "continues": each, "bookmark": f"b{index % 2}", "force": True}
                    for index, each in enumerate(parents)
                )
            ]
            copied = here.copy_to(name, [ids[-1], ids[0]])
            found = {turn.id: turn for turn in there.turns()}
            assert copied.stored == len(found)
            assert [turn.to_dict() for turn in found.values()] == [here.get(each).to_dict() for each in found]
            assert there.resolve(ids[-1]) == here.resolve(ids[-1])
            assert dict(there.bookmarks) == {k: v for k, v in here.bookmarks.items() if v in found}
            assert (there.verify().problems, here.verify().problems) == ((), ())
            assert here.copy_to(name, [ids[-1], ids[0]]).stored == 0
            assert here.copy_to(name, ids).known == len(found)
            assert there.verify().problems == ()

    def test_documents_and_large_payloads_go_along(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        document = here.add_document(b"\x00" * 50_000, name="x.bin", bookmark="main")
        tip = here.add_turn("what is it?", continues="main", meta={"k": 1})
        here.copy_to(there.space, "main")
        assert there.payload(document.id) == b"\x00" * 50_000
        assert there.get("main").to_dict() == tip.to_dict()

    def test_a_document_that_a_message_refers_to_goes_along(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        alone = here.add_document(b"alone" * 5000, name="a.txt", content_type="text/plain", bookmark="paper")
        here.add_turn("q", bookmark="main")
        here.add_turn(refer_to(alone.id), continues="main", role="tool")
        copied = here.copy_to(there.space, "main", keep=False)
        assert (copied.names, copied.stored, copied.documents) == (("main",), 3, ())
        assert there.payload(alone.id) == b"alone" * 5000
        assert dict(here.bookmarks) == {"paper": alone.id}
        there.request("main", to="anthropic", model="m")
        assert there.verify().problems == ()
        here.bookmarks.set("main", there.bookmarks["main"])
        assert here.copy_to(there.space, "main").stored == 0

    def test_one_that_would_bring_other_turns_stays_and_is_named(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        private = here.add_turn("of another conversation", bookmark="other")
        behind = here.add_document(b"behind", name="b.txt", content_type="text/plain", continues="other")
        inside = here.add_document(b"inside", name="c.txt", content_type="text/plain", bookmark="main")
        here.add_turn([*refer_to(behind.id), *refer_to(inside.id)], continues="main", role="tool")
        copied = here.copy_to(there.space, "main")
        assert (copied.stored, copied.documents) == (2, (behind.id,))
        with pytest.raises(UnknownTurn):
            there.get(private.id)
        assert here.copy_to(there.space, behind.id).stored == 2
        there.request("main", to="anthropic", model="m")
        assert there.verify().problems == ()

    def test_a_move_takes_the_names_and_leaves_the_turns(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        grown = grow(here, "q? <- a <- r?, q? <- b")
        here.bookmarks.set("main", grown["r?"].id)
        here.bookmarks.set("other", grown["b"].id)
        copied = here.copy_to(there.space, "main", keep=False)
        assert (copied.tips, copied.stored, copied.names) == ((grown["r?"].id,), 3, ("main",))
        assert (dict(here.bookmarks), dict(there.bookmarks)) == (
            {"other": grown["b"].id},
            {"main": grown["r?"].id},
        )
        assert texts(here, grown["r?"].id) == texts(there, "main") == ["q?", "a", "r?"]
        with pytest.raises(UnknownTurn):
            there.get(grown["b"].id)

    def test_a_thread_that_has_grown_is_copied_again(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.add_turn("a", bookmark="main")
        here.copy_to(there.space, "main")
        here.add_turn("b", continues="main")
        copied = here.copy_to(there.space, "main")
        assert (copied.stored, copied.known, texts(there, "main")) == (1, 1, ["a", "b"])
        assert there.verify().problems == ()

    def test_what_stays_is_named(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.pointers.set("mine", "anthropic/small")
        here.tools.set("files", [])
        here.add_turn("a", bookmark="main", provider_ptr="mine", servers=["files"])
        captured = here.capture("main", "anthropic")
        copied = here.copy_to(there.space, "main")
        assert (copied.pointers, copied.servers, len(copied.streams)) == (("mine",), ("files",), 1)
        captured.finish()
        there.pointers.set("mine", "anthropic/small")
        assert here.copy_to(there.space, "main").pointers == ()


class TestWhatIsRefused:
    def test_a_name_of_another_conversation(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.add_turn("a", bookmark="main")
        there.add_turn("b", bookmark="main")
        with unchanged(there), unchanged(here), pytest.raises(BookmarkTaken, match="in the other space"):
            here.copy_to(there.space, "main", keep=False)

    def test_a_name_that_only_moved_along_comes_back_to_where_it_was(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        turn = here.add_turn("a", bookmark="main")
        here.add_turn("elsewhere", bookmark="main", force=True)
        theirs = there.add_turn("b", bookmark="main")
        here.copy_to(there.space, turn.id)
        assert there.bookmarks["main"] == theirs.id
        assert there.verify().problems == ()

    def test_an_id_with_another_seal(self, file_place: FilePlace) -> None:
        here, there = file_place.open("here"), file_place.open("there")
        turn = here.add_turn("a", bookmark="main")
        here.copy_to(there.space, "main")
        run_sql(there, f"UPDATE turn SET seal = x'00' WHERE space = {there._number}")
        with pytest.raises(TurnTaken, match=turn.id):
            here.copy_to(there.space, "main")

    def test_the_space_itself_and_one_that_is_missing(self, spaces: tuple[Store, Store]) -> None:
        here, _ = spaces
        here.add_turn("a", bookmark="main")
        with pytest.raises(InvalidArgument, match="already"):
            here.copy_to(here.space, "main")
        with pytest.raises(UnknownSpace):
            Database(here._database).move("main", space=here.space, to="nowhere")
        with pytest.raises(InvalidArgument):
            here.copy_to("there", [])


class TestManyTurns:
    def test_they_go_in_portions_at_a_bounded_number_of_statements(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.add_turns(
            {"content": f"{index}" + "x" * (3000 if index % 400 == 7 else 0), "continues": index - 1 if index else None,
             "bookmark": "main", "key": f"key-{index}"}
            for index in range(1200)
        )  # fmt: skip
        fork = here.add_turn("fork", continues="main~600", bookmark="fork")
        with counted_statements() as statements:
            copied = here.copy_to(there.space, ["main", "fork"])
        assert copied.stored == 1201
        assert statements.count < 120
        assert there.get("fork").to_dict() == fork.to_dict()
        assert [turn.id for turn in there.log("main")] == [turn.id for turn in here.log("main")]
        assert there.verify().problems == ()
        here.add_turn("more", continues="main")
        assert here.copy_to(there.space, "main").stored == 1

    def test_one_damaged_turn_among_them_stores_nothing(self, file_place: FilePlace) -> None:
        here, there = file_place.open("here"), file_place.open("there")
        here.add_turn("before", bookmark="main")
        bad = here.add_turn("bad", continues="main")
        here.add_turn("after", continues="main")
        run_sql(here, f"UPDATE turn SET role = 'system' WHERE id = '{bad.id}'")
        with unchanged(there), pytest.raises(CorruptTurn, match=bad.id):
            here.copy_to(there.space, "main")

    def test_a_value_of_another_type_is_named(self, file_place: FilePlace) -> None:
        here, there = file_place.open("here"), file_place.open("there")
        turn = here.add_turn("bad", bookmark="main", meta={"a": 1})
        run_sql(here, f"UPDATE turn SET app = 7 WHERE id = '{turn.id}'")
        with unchanged(there), pytest.raises(DatabaseCorrupt, match=turn.id):
            here.copy_to(there.space, "main")


class TestWhatIsSaidOfAConversation:
    def test_it_goes_with_the_name(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.add_turn("a", bookmark="main")
        here.conversations.set("main", title="Peru", tags=["trip"], pinned=True, key="chat-7")
        copied = here.copy_to(there.space, "main", keep=False)
        assert copied.records == ("main",)
        record = there.conversations.find("chat-7").record
        assert (record.title, record.tags, record.pinned) == ("Peru", ("trip",), True)
        assert (there.verify().problems, here.verify().problems) == ((), ())
        with pytest.raises(UnknownConversation):
            here.conversations.find("chat-7")

    def test_it_goes_with_a_nameless_one(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        grown = grow(here, "q? <- a")
        here.conversations.set(grown["a"].id, title="Peru")
        assert here.copy_to(there.space, grown["a"].id).records == (grown["q?"].id,)
        assert there.conversations.get(grown["a"].id).record.title == "Peru"
        assert there.verify().problems == ()

    @pytest.mark.parametrize("order", ["edit", "edit original", "original edit"])
    def test_that_of_an_edited_question_lies_under_the_first_version_that_is_there(
        self, spaces: tuple[Store, Store], order: str
    ) -> None:
        here, there = spaces
        original = here.add_turn("hello").id
        turns = {"original": original, "edit": here.edit(original, "hello there").turn.id}
        here.conversations.set(original, title="Peru")
        for each in order.split():
            here.copy_to(there.space, turns[each])
            assert [entry.title for entry in there.conversations.list().entries] == ["Peru"]
        there.conversations.set(turns["edit"], title="Lima")
        assert [entry.title for entry in there.conversations.list().entries] == ["Lima"]
        assert there.verify().problems == ()

    def test_what_the_other_space_says_already_stays(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.add_turn("a", bookmark="main")
        here.copy_to(there.space, "main")
        here.conversations.set("main", title="here")
        there.conversations.set("main", title="there")
        assert here.copy_to(there.space, "main").records == ()
        assert there.conversations.get("main").record.title == "there"

    def test_a_key_of_another_conversation_is_refused(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        here.add_turn("a", bookmark="main")
        here.conversations.set("main", key="chat-7")
        there.add_turn("b", bookmark="other")
        there.conversations.set("other", key="chat-7")
        with unchanged(there), pytest.raises(KeyTaken, match="chat-7"):
            here.copy_to(there.space, "main")


class TestOfWhatBothImported:
    """Two spaces that imported one session have equal turns under the same keys, with other ids."""

    def session(self, store: Store, name: str, *more: str) -> None:
        for number, words in enumerate(("Why two tides?", "Two bulges.", *more)):
            following = {"continues": name} if number else {"bookmark": name}
            store.add_turn(words, role=("user", "assistant")[number % 2], key=f"session:{number}", **following)
        store.conversations.set(name, title="Tides", key="session")

    def test_a_name_there_stays_where_it_says_the_same(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        self.session(here, "tides")
        self.session(there, "tides")
        theirs, keyed = there.bookmarks["tides"], there.find("session:1").id
        copied = here.copy_to(there.space, "tides")
        assert (copied.stored, copied.records) == (2, ())
        assert (there.bookmarks["tides"], there.find("session:1").id) == (theirs, keyed)
        assert (here.verify().problems, there.verify().problems) == ((), ())

    def test_a_name_there_moves_on_to_what_was_said_since(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        self.session(here, "tides", "And why not three?")
        self.session(there, "tides")
        here.copy_to(there.space, "tides")
        assert there.text("tides") == "And why not three?"
        assert here.copy_to(there.space, "tides").stored == 0
        assert there.verify().problems == ()

    def test_a_name_that_went_elsewhere_is_refused_as_any(self, spaces: tuple[Store, Store]) -> None:
        here, there = spaces
        self.session(here, "tides", "And why not three?")
        self.session(there, "tides", "How high?")
        with unchanged(there), pytest.raises(BookmarkTaken, match="in the other space"):
            here.copy_to(there.space, "tides")

    def test_under_another_name_the_key_of_the_conversation_stays_with_the_first(
        self, spaces: tuple[Store, Store]
    ) -> None:
        here, there = spaces
        self.session(here, "tides")
        self.session(there, "mine")
        assert here.copy_to(there.space, "tides").records == ("tides",)
        assert there.conversations.find("session").name == "mine"
        record = there.conversations.get("tides").record
        assert (record.title, record.key) == ("Tides", None)
        assert there.verify().problems == ()


class TestIntoAnotherDatabase:
    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "from.db", space="mine") as store:
            yield store

    def test_threads_arrive_with_all_that_belongs_to_them(self, elsewhere: Store, store: Store) -> None:
        grown = grow(elsewhere, "q? <- a <- r?, q? <- b")
        elsewhere.bookmarks.set("main", grown["r?"].id)
        elsewhere.conversations.set("main", title="Peru")
        elsewhere.add_document(b"\x00" * 50_000, name="x.bin", continues="main", said_at=7, key="doc")
        elsewhere.pointers.set("mine", "openai/small")
        heads = [head.id for head in elsewhere.heads()]
        copied = elsewhere.copy_to(store, heads)
        assert (copied.stored, copied.records) == (5, ("main",))
        assert [turn.to_dict() for turn in store.turns()] != []
        assert {turn.id: turn.to_dict() for turn in store.turns()} == {
            turn.id: turn.to_dict() for turn in elsewhere.turns()
        }
        assert dict(store.bookmarks) == dict(elsewhere.bookmarks)
        assert store.find("doc").said_at == elsewhere.find("doc").said_at
        assert store.verify().problems == ()
        assert elsewhere.copy_to(store, heads).stored == 0

    def test_names_stay_in_the_first_one(self, elsewhere: Store, store: Store) -> None:
        elsewhere.add_turn("a", bookmark="main")
        with unchanged(store), pytest.raises(InvalidArgument, match="keep=True"):
            elsewhere.copy_to(store, "main", keep=False)

    def test_a_closed_store_takes_nothing(self, elsewhere: Store, store: Store) -> None:
        elsewhere.add_turn("a", bookmark="main")
        store.close()
        with pytest.raises(Closed):
            elsewhere.copy_to(store, "main")

    def test_a_store_of_the_same_database_is_its_space(self, spaces: tuple[Store, Store]) -> None:
        here, _ = spaces
        there = Database(here._database).store(f"{here.space}-more")
        turn = here.add_turn("a", bookmark="main")
        assert here.copy_to(there, keep=False).tips == (turn.id,)
        assert (dict(here.bookmarks), dict(there.bookmarks)) == ({}, {"main": turn.id})
        with pytest.raises(InvalidArgument, match="already"):
            here.copy_to(here, turn.id)
