"""Which turns of a thread go: with ``thread`` all of them, with ``branch`` those that lead nowhere else."""

from __future__ import annotations

from typing import Literal

import pytest

from headish import Store
from headish.errors import InvalidArgument, UnknownTurn
from support.growing import grow, names_of
from support.insides import counted_statements
from support.places import Place


def gone(store: Store, drawing: str, headish: str | list[str], names: dict[str, str], scope: str) -> list[str]:
    """The drawn names of what would go; ``names`` are bookmarks and where they are set, in order."""
    grown = grow(store, drawing)
    for name, at in names.items():
        store.bookmarks.set(name.rstrip("'"), grown[at].id)
    listed = [headish] if isinstance(headish, str) else headish
    ids = [grown[each].id if each in grown else each for each in listed]
    found = store.erase(ids, scope=scope, reason="r", dry_run=True).found  # type: ignore[arg-type]
    drawn = {turn.id: name for name, turn in grown.items()}
    return [drawn[each] for each in found.turns]


class TestThread:
    def test_every_turn_that_leads_there_goes_in_order(self, store: Store) -> None:
        assert gone(store, "a <- b <- c, a <- d, b + d <- e", "e", {"x": "a"}, "thread") == ["a", "b", "d", "e"]


class TestBranch:
    @pytest.mark.parametrize(
        ("drawing", "headish", "names", "goes"),
        [
            ("a <- b <- c", "c", {}, "a b c"),
            ("a <- b <- c", "b", {}, ""),
            ("a <- b <- c, a <- d", "c", {}, "b c"),
            ("a <- b <- c <- d, b <- e, a <- f", "d", {}, "c d"),
            ("a <- b, a <- c, b + c <- d", "d", {}, "a b c d"),
            ("a <- b, a <- c, b + c <- d, c <- e", "d", {}, "b d"),
            ("a <- b <- c", ["c"], {"x": "a"}, "b c"),
            ("a <- b <- c", "c", {"x": "c"}, "a b c"),
            ("a <- b <- c", "c", {"x": "b", "x'": "c"}, "a b c"),
            ("a <- b <- c", "c", {"x": "c", "x'": "a"}, ""),
            ("a <- b <- c, a <- d", ["c", "d"], {}, "a b c d"),
            ("a <- b <- c, d <- e", "c", {"x": "b", "x'": "e"}, "c"),
        ],
        ids=[
            "a thread that is alone", "a turn that is continued", "a fork", "two forks", "a merge",
            "a merge, one side of which is continued", "a name on the way", "a name at its end",
            "a name that came along", "a name that was at its end before", "two ends together", "a remembered move",
        ],
    )  # fmt: skip
    def test_what_leads_elsewhere_stays(
        self, store: Store, drawing: str, headish: str | list[str], names: dict[str, str], goes: str
    ) -> None:
        assert gone(store, drawing, headish, names, "branch") == goes.split()

    def test_it_says_why_turns_stay(self, store: Store) -> None:
        grown = grow(store, "a <- b <- c <- d, b <- e")
        store.bookmarks.set("here", grown["a"].id)
        found = store.erase(grown["d"].id, scope="branch", reason="r", dry_run=True).found
        assert found.kept_turns == 2
        assert [(names_of([store.get(each.turn)], grown), each.why) for each in found.kept] == [
            (["b"], "another branch continues it"), (["a"], "the bookmark here points there"),
        ]  # fmt: skip

    def test_a_conversation_that_grew_under_its_name_goes_whole(self, store: Store) -> None:
        for index in range(4):
            store.add_turn(str(index), **({"continues": "main"} if index else {"bookmark": "main"}))
        done = store.erase("main", scope="branch", reason="r")
        assert len(done.found.turns) == 4
        assert (done.found.names, done.found.names_gone) == ((), ("main",))
        assert store.verify().problems == ()


def test_an_unknown_scope_or_turn_is_refused(store: Store) -> None:
    store.add_turn("a")
    with pytest.raises(InvalidArgument):
        store.erase("@", scope="space", reason="r")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        store.erase([], reason="r")
    with pytest.raises(UnknownTurn):
        store.erase("nobody", reason="r")


class TestWhatIsLeft:
    def test_a_name_at_an_erased_turn_keeps_what_leads_there(self, store: Store) -> None:
        grown = grow(store, "a <- b, a <- x")
        store.bookmarks.set("n", grown["x"].id)
        store.erase(grown["x"].id, reason="r")
        found = store.erase(grown["b"].id, scope="branch", reason="r", dry_run=True).found
        assert found.turns == (grown["b"].id,)

    def test_what_a_name_remembers_behind_the_end_is_no_reason(self, store: Store) -> None:
        grown = grow(store, "a <- b <- c, d")
        for at in "cd":
            store.bookmarks.set("n", grown[at].id)
        store.erase(grown["c"].id, reason="r")
        found = store.erase(grown["b"].id, scope="branch", reason="r", dry_run=True).found
        assert found.turns == (grown["a"].id, grown["b"].id)

    def test_a_title_that_was_kept_stays_when_another_conversation_goes(self, store: Store) -> None:
        first, other = (store.add_turn(each).id for each in ("first", "other"))
        for each in (first, other):
            store.conversations.set(each, title="T")
        store.erase(first, scope="thread", keep_name=True, reason="r")
        assert store.erase(other, scope="thread", reason="r").receipt.counts == {"records": 1}  # type: ignore[union-attr]
        assert [store.conversations.get(each).record.title for each in (first, other)] == ["T", ""]


class TestStatements:
    @pytest.mark.parametrize("scope", ["thread", "branch"])
    def test_are_as_many_however_many_chains_there_are(self, place: Place, scope: Literal["thread", "branch"]) -> None:
        def forked(store: Store, forks: int) -> int:
            """How many statements erase a thread of so many forks, each of which another branch continues."""
            end = store.add_turn("root").id
            for fork in range(forks):
                store.add_turn(f"beside {fork}", continues=end)
                end = store.add_turn(f"on {fork}", continues=end).id
            store.conversations.set(end, title="nameless")
            store.bookmarks.set("main", end)
            with counted_statements() as statements:
                found = store.erase("main", scope=scope, reason="r", scrub=False, dry_run=scope == "branch").found
            assert (len(found.turns), found.kept_turns) == ((forks + 1, 0) if scope == "thread" else (1, forks))
            return statements.count

        with place.fresh() as few, place.fresh() as many:
            assert forked(many, 40) == forked(few, 4)
