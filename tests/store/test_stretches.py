"""Stretches: turns of a thread that follow one another, read without the others; and pages that are written of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headish import Store
from headish.errors import CorruptTurn, InvalidArgument, UnknownTurn
from headish.store.reading import pages
from headish.values.ids import TurnId
from support.insides import counted_rows, counted_statements, run_sql


@pytest.fixture
def forked(store: Store) -> Store:
    """A thread of three chains, a merge at its end, and a branch that does not lead to it."""
    ids: list[TurnId] = []
    for number in range(7):
        more = {"continues": ids[-1]} if ids else {}
        ids.append(store.add_turn(f"trunk {number}", role="assistant" if number % 2 else "user", **more).id)
    side = store.add_turn("side 0", continues=ids[3])
    side = store.add_turn("side 1", role="assistant", continues=side.id)
    store.add_turn("merge", continues=[ids[-1], side.id], bookmark="merged")
    store.add_turn("elsewhere", continues=ids[2], role="assistant", bookmark="other")
    return store


def said(store: Store, **asked: object) -> list[str]:
    return [each.text for each in store.stretch("merged", **asked).turns]  # type: ignore[arg-type]


class TestStretch:
    def test_every_stretch_is_a_part_of_the_walk(self, forked: Store) -> None:
        walk = [message.content[0].text for _, message in forked.messages("merged")]  # type: ignore[union-attr]
        assert len(walk) == 10
        for start in range(12):
            for limit in (1, 2, 3, 7, 50):
                found = forked.stretch("merged", start=start, limit=limit)
                assert [each.text for each in found.turns] == walk[start : start + limit]
                assert (found.start, found.total) == (min(start, 10), 10)
        assert said(forked) == walk
        assert said(forked, limit=4) == walk[-4:]

    def test_around_a_turn_it_stands_in_the_middle_and_ends_at_the_ends(self, forked: Store) -> None:
        ids = [turn.id for turn, _ in forked.messages("merged")]
        starts = [forked.stretch("merged", around=each, limit=4).start for each in ids]
        assert starts == [0, 0, 0, 1, 2, 3, 4, 5, 6, 6]

    def test_onward_it_goes_to_the_end_of_the_branch_that_began_last(self, forked: Store) -> None:
        first = forked.messages("merged")[0][0].id
        assert forked.stretch(first, onward=True).turns[-1].text == "elsewhere"
        fifth = forked.messages("merged")[4][0].id
        found = forked.stretch(fifth, onward=True, limit=3)
        assert [each.text for each in found.turns] == ["trunk 3", "trunk 4", "trunk 5"]
        assert forked.stretch("other", onward=True).turns[-1].text == "elsewhere"

    def test_onward_it_goes_to_the_branch_that_began_last_when_another_grew_since(self, forked: Store) -> None:
        first = forked.messages("merged")[0][0].id
        forked.add_turn("grew last", continues="merged")
        assert forked.stretch(first, onward=True).turns[-1].text == "elsewhere"

    def test_turns_know_what_lies_outside(self, forked: Store) -> None:
        [turn] = forked.stretch("merged", start=3, limit=1).turns
        assert (turn.text, turn.children, turn.more) == ("trunk 3", (), 2)
        assert turn.continues == (forked.messages("merged")[2][0].id,)
        assert (turn.version, turn.versions) == (1, 2)

    def test_faces_are_those_that_the_whole_thread_has(self, forked: Store) -> None:
        ids = [turn.id for turn, _ in forked.messages("merged")]
        forked.hide(ids[1], ids[2], continues="merged", viewer="model")
        forked.replace(ids[5], "other words", continues="merged")
        forked.add_turn("not for people", continues="merged", attributes={"hidden": "people"})
        forked.add_turn("plain", continues="merged")
        forked.hide(ids[8], continues="merged")
        forked.add_turn("the end", continues="merged")
        whole = forked.stretch("merged", faces=True)
        assert len(whole.faces) == 5
        assert [each.boundaries for each in whole.faces.values() if each.boundaries] != []
        for start in range(whole.total + 1):
            for limit in (1, 3, 50):
                found = forked.stretch("merged", start=start, limit=limit, faces=True)
                shown = {turn.id for turn in found.turns}
                assert found.faces == {turn: face for turn, face in whole.faces.items() if turn in shown}
        assert forked.stretch("merged", start=whole.total - 1, faces=True).faces == {}

    def test_what_is_not_in_the_thread_is_refused(self, forked: Store) -> None:
        with pytest.raises(UnknownTurn, match="not in this thread"):
            forked.stretch("merged", around="other")
        for wrong in ({"start": -1}, {"start": 0, "around": "merged"}, {"limit": 0}, {"start": 0, "onward": True}):
            with pytest.raises(InvalidArgument):
                forked.stretch("merged", **wrong)  # type: ignore[arg-type]

    def test_a_damaged_turn_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        other = "(SELECT hash FROM turn AS o WHERE o.id <> turn.id ORDER BY o.id LIMIT 1)"
        for change in ("role = 'system'", f"hash = {other}"):
            with Store.open(tmp_path / "damaged.db") as store:
                ids = [store.add_turn("first").id]
                ids += [store.add_turn(text, continues="@").id for text in ("second", "third", "fourth")]
                run_sql(store, f"UPDATE turn SET {change} WHERE id = '{ids[1]}'")
                with pytest.raises(CorruptTurn, match=ids[1]):
                    store.stretch(ids[3], start=1, limit=2)

    def test_it_costs_the_same_however_long_the_thread_is(self, store: Store) -> None:
        counts = []
        for number in (100, 400):
            items = [{"content": str(index), **({"continues": index - 1} if index else {})} for index in range(number)]
            last = store.add_turns(items)[-1].id
            with counted_statements() as counted:
                store.stretch(last, start=40)
            counts.append(counted.count)
        assert counts[0] == counts[1] <= 12


def test_faces_of_a_stretch_that_no_overlay_covers_cost_no_walk(store: Store) -> None:
    """However long the thread is, and however much of it is replaced elsewhere."""
    rows, statements = list[int](), list[int]()
    for number in (100, 400):
        items = [{"content": str(index), **({"continues": index - 1} if index else {})} for index in range(number)]
        turns = [each.id for each in store.add_turns(items)]
        store.hide(turns[1], turns[5], continues=turns[-1])
        end = store.replace(turns[-3], "other words", continues="@").id
        with counted_rows() as counted, counted_statements() as asked:
            assert store.stretch(end, start=40, limit=10, faces=True).faces == {}
        rows.append(counted[0])
        statements.append(asked.count)
        assert store.stretch(end, start=4, limit=10, faces=True).faces.keys() == {*turns[4:6]}
        assert store.stretch(end, start=number - 3, limit=10, faces=True).faces.keys() == {turns[-3]}
    assert rows[0] == rows[1] <= 50
    assert statements[0] == statements[1] <= 14


def test_a_twin_behind_a_merge_is_seen_as_the_overlay_before_it_says(store: Store) -> None:
    """Two stores say the same; an overlay covers it in one branch, and the other branch is walked behind it."""
    twins = [store.add_turn("said twice").id for _ in range(2)]
    ends = [store.add_turn(text, continues=each).id for text, each in zip("ab", twins, strict=True)]
    hider = store.hide(twins[0], continues=ends[0], viewer="people")
    merged = store.add_turn("merge", continues=[hider.id, ends[1]])
    ids = [turn.id for turn, _ in store.messages(merged.id)]
    later = ids.index(twins[1])
    assert later > ids.index(ends[0])
    whole = store.stretch(merged.id, faces=True).faces
    assert store.stretch(merged.id, start=later, faces=True).faces == {twins[1]: whole[twins[1]]}


class TestPieces:
    @pytest.mark.parametrize("debug", [False, True])
    def test_a_page_in_pieces_is_the_whole_page(
        self, forked: Store, debug: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forked.hide("merged~2", continues="merged", viewer="people")
        whole = forked.render("merged", debug=debug)
        monkeypatch.setattr(pages, "PIECE_TURNS", 3)
        pieces = list(forked.render_pieces("merged", debug=debug))
        assert "".join(pieces) == whole
        assert len(pieces) > 5
        assert max(each.count("<article") for each in pieces) <= 3

    def test_what_is_wrong_is_told_before_the_first_piece(self, forked: Store) -> None:
        with pytest.raises(UnknownTurn):
            forked.render_pieces("nobody")
