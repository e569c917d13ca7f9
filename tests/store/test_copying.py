"""A conversation moves into another space of its database: ids, seals and names stay, and nothing is stored twice."""

from __future__ import annotations

import pytest
from hypothesis import given

from headish import Database, Store
from headish.errors import BookmarkTaken, InvalidArgument, TurnTaken, UnknownSpace, UnknownTurn
from support.dags import dags
from support.growing import grow, texts
from support.insides import run_sql, unchanged
from support.places import FilePlace, Place


@pytest.fixture
def spaces(place: Place) -> tuple[Store, Store]:
    """Two spaces of one database."""
    here = place.open("here")
    if place.target == ":memory:":
        here._database.spaces.add("there")
        there = here._database.store("there")
    else:
        there = place.open("there")
    return here, there


class TestWhatGoes:
    @given(parents=dags(largest=12))
    def test_a_copy_is_equal_and_in_order(self, place: Place, parents: list[list[int]]) -> None:
        with place.fresh() as here:
            database: Database = here._database
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
            here._database.move("main", space=here.space, to="nowhere")
        with pytest.raises(InvalidArgument):
            here.copy_to("there", [])
