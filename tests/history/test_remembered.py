"""What a store remembers of its names spares it reading them, and never decides what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Database, Store, Turn
from headish.content.encoding import encode_text
from headish.content.hashes import DigestFields, digest_turn, hash_payload
from headish.database.query import Query
from headish.errors import BarredContent, HeadishError, QuotaExceeded, UnknownTurn
from headish.history.writing.tips import NAMES, NOTHING
from headish.rows.bookmarks import RECENCY
from support.growing import texts
from support.insides import counted_statements, database_of, dump, read, run_sql, unchanged
from support.places import FilePlace, Place, in_memory_too

NAMES_USED = ("main", "side")
TEXT = {"type": "text", "text": "answer"}
REPLY = {"type": "message", "content": [TEXT], "stop_reason": "end_turn"}


def _another_name(store: Store, name: str) -> None:
    store.add_turn("set", continues=name, bookmark="third", force=True)


def _newest(store: Store) -> str:
    return store.get("@").id


def _behind(store: Store, turn: str) -> Turn:
    return store.add_turn("behind it", continues=turn)


def _named_meanwhile(store: Store, name: str) -> None:
    turn = store.add_turn("nameless").id
    store.bookmarks.set(f"{name}-too", turn)
    _behind(store, turn)


STEPS: dict[str, Callable[[Store, str], Any]] = {
    "continue": lambda store, name: store.add_turn("next", continues=name),
    "continue by id": lambda store, name: store.add_turn("by id", continues=store.bookmarks[name]),
    "fork": lambda store, name: store.add_turn("fork", continues=f"{name}~1"),
    "nameless": lambda store, name: store.add_turn("nameless"),
    "behind a nameless one": lambda store, name: _behind(store, store.add_turn("nameless").id),
    "behind the newest, by id": lambda store, name: _behind(store, _newest(store)),
    "behind the newest, twice": lambda store, name: [_behind(store, each) for each in [_newest(store)] * 2],
    "behind one that got a name": _named_meanwhile,
    "batch by id": lambda store, name: store.add_turns(
        [{"content": "b", "continues": _newest(store)}, {"content": "c", "continues": 0}]
    ),
    "batch by a named id": lambda store, name: store.add_turns(
        [{"content": "b", "continues": store.bookmarks[name]}, {"content": "c", "continues": 0}]
    ),
    "taken away": lambda store, name: store.add_turn("taken", bookmark=name, force=True),
    "respond": lambda store, name: store.add_turn("respond", respond=True),
    "undo": lambda store, name: store.bookmarks.undo(name),
    "set": lambda store, name: store.bookmarks.set(name, "@"),
    "remove": lambda store, name: store.bookmarks.remove(name),
    "large": lambda store, name: store.add_turn("x" * 3000, continues=name),
    "record": lambda store, name: store.record([{"role": "user", "content": "r"}], continues=name),
    "batch": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "c", "continues": 0}]
    ),
    "batch with a large turn": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "y" * 3000, "continues": 0}, {"content": "d", "continues": 1}]
    ),
    "batch of turns of all kinds": lambda store, name: store.add_turns(
        [
            {"content": "b", "continues": name, "bookmark": name, "said_at": 1_700_000_000_000},
            {"content": "c", "continues": 0, "inherited": {"a": 1}, "cache": True},
            {"content": "d", "continues": 1, "meta": {"m": 1}},
        ]
    ),
    "batch that forks": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "c", "continues": 0}, {"content": "d", "continues": 0}]
    ),
    "batch that moves nothing": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "c", "continues": 0}], moves=False
    ),
    "batch with a turn that moves nothing": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "c", "continues": 0, "moves": False}]
    ),
    "batch with another name": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "c", "continues": 0, "bookmark": f"{name}-too"}]
    ),
    "batch that is refused": lambda store, name: store.add_turns(
        [{"content": "b", "continues": name}, {"content": "c", "continues": 1}]
    ),
    "another name": _another_name,
    "reply": lambda store, name: store.reply(name, "anthropic", REPLY),
    "reply by id": lambda store, name: store.reply(store.bookmarks[name], "anthropic", REPLY),
    "large reply": lambda store, name: store.reply(
        name, "anthropic", {**REPLY, "content": [TEXT | {"text": "x" * 3000}]}
    ),
    "pointer": lambda store, name: store.pointers.set(name, f"openai/{store.stats().turns}"),
}


@given(steps=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(sorted(STEPS)), st.sampled_from(NAMES_USED))))
def test_two_stores_write_what_one_writes_that_remembers_nothing(
    durable_place: Place, steps: list[tuple[int, str, str]]
) -> None:
    with (
        durable_place.fresh() as one,
        Database(one._database).store(one.space) as other,
        durable_place.fresh() as careful,
    ):
        for store in (one, careful):
            for name in NAMES_USED:
                store.add_turn(name, bookmark=name)
        for which, step, name in steps:
            careful._remembered = NOTHING
            assert _done((one, other)[which], step, name) == _done(careful, step, name)
        for name in NAMES_USED:
            assert _thread(one, name) == _thread(careful, name)
        counted = [(each.turns, each.roots, each.heads, each.bookmarks) for each in (one.stats(), careful.stats())]
        assert counted[0] == counted[1]
        assert one.verify().problems == careful.verify().problems == ()


def _done(store: Store, step: str, name: str) -> type[Exception] | None:
    try:
        STEPS[step](store, name)
    except HeadishError as error:
        return type(error)
    return None


def _thread(store: Store, name: str) -> list[str] | None:
    return texts(store, name) if name in store.bookmarks else None


def test_names_that_are_continued_in_turn_are_all_remembered(store: Store) -> None:
    names = [f"n{index}" for index in range(NAMES // 2)]  # all hundred turns would have new plans made
    for name in names:
        store.add_turn("first", bookmark=name)
    for name in names:
        with counted_statements() as counted:
            store.add_turn("next", continues=name)
        assert counted.count == 4
    assert store.verify().problems == ()


def test_a_turn_is_continued_by_its_id_without_a_look(store: Store) -> None:
    """The name that moved with it moves along; the last of many ends is still known."""
    ends = [store.add_turn("root").id, store.add_turn("named", bookmark="main").id]
    for statements, end in ((2, ends[0]), (4, ends[1])):
        with counted_statements() as counted:
            behind = store.add_turn("behind", continues=end.upper())
        assert counted.count == statements
        assert behind.meta.continues == (end,)
    assert store.bookmarks["main"] == behind.id
    with counted_statements() as counted:
        fork = store.add_turn("fork", continues=ends[0])
    assert counted.count > 4, "what is continued already is read"
    with counted_statements() as counted:
        stored = store.add_turns([{"content": "a", "continues": fork.id}, {"content": "b", "continues": 0}])
    turns = 2 if database_of(store).dialect == "postgresql" else 1
    assert (counted.count, stored[0].meta.continues) == (1 + turns, (fork.id,))
    assert store.stats().heads == 3
    assert store.verify().problems == ()


PLACED = Query("places", "SELECT chain, pos, seq, head FROM turn WHERE space = :space ORDER BY seq")
GROWN = st.lists(st.tuples(st.sampled_from(["by id", "named", "set", "removed", "merge"]), st.integers(0, 20)))


@given(steps=GROWN)
def test_a_turn_behind_any_other_stands_where_the_careful_way_puts_it(
    durable_place: Place, steps: list[tuple[str, int]]
) -> None:
    with durable_place.fresh() as quick, durable_place.fresh() as careful:
        _grow(quick, steps)
        with mock.patch("headish.store.writing.add.append_behind", return_value=None):
            _grow(careful, steps)
        assert _placed(quick) == _placed(careful)
        assert quick.verify().problems == careful.verify().problems == ()


def _grow(store: Store, steps: list[tuple[str, int]]) -> None:
    """A tree in which nothing is remembered from one turn to the next."""
    turns = [store.add_turn("first", bookmark="main").id]
    for kind, number in steps:
        store._remembered, at = NOTHING, turns[number % len(turns)]
        if kind == "set":
            store.bookmarks.set(f"n{number % 3}", at)
        elif kind == "removed":
            store.bookmarks.remove(next(iter(store.bookmarks), "main")) if len(store.bookmarks) else None
        else:
            also = {"bookmark": f"n{number}", "force": True} if kind == "named" else {}
            turns.append(store.add_turn("x", continues=[at, turns[0]] if kind == "merge" else at, **also).id)


def _placed(store: Store) -> list[object]:
    """Where turns and names are, and what the space counts, without what each store makes by chance."""
    rows, counted = dump(store), store.stats()
    turns = read(store, lambda connection: connection.rows(PLACED, space=store._number))
    return [
        *turns,
        *[row[1:] for row in rows["link"]],
        *[row[1:4] for row in rows["bookmark"]],
        counted.heads,
        counted.roots,
    ]


def test_a_fork_by_its_id_takes_five_statements(store: Store) -> None:
    turns = store.add_turns([{"content": "a"}, *({"content": "b", "continues": index} for index in range(30))])
    store.bookmarks.set("named", turns[3].id)
    counts = []
    for each in (turns[7], turns[3], turns[30]):
        with counted_statements() as counted:
            store.add_turn("fork", continues=each.id)
        counts.append(counted.count)
    # Behind a named turn the careful way follows, and the name moves, too. Behind an end no chain begins.
    assert counts == [5, 1 + 10, 4]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM turn WHERE pos = 1",
        "UPDATE turn SET digest = zeroblob(32) WHERE pos = 1",
        "UPDATE turn SET id = '0000000000000000000000000' WHERE pos = 1",
    ],
)
def test_a_turn_that_was_changed_behind_the_stores_back_is_read_anew(file_place: FilePlace, change: str) -> None:
    store = file_place.open()
    last = store.add_turn("second", continues=store.add_turn("first").id)
    run_sql(store, change)
    if "digest" not in change:
        with unchanged(store), pytest.raises(UnknownTurn):
            store.add_turn("third", continues=last.id)
        return
    # What is read as it stands is continued as it stands; only ``verify`` knows better.
    third = store.add_turn("third", continues=last.id)
    assert third.digest == _digest_behind(b"\0" * 32, "third")


def _digest_behind(parent: bytes, text: str) -> str:
    return digest_turn(DigestFields("user", hash_payload(encode_text(text))), [parent]).hex()


BATCHES: dict[str, list[dict[str, Any]]] = {
    "a line": [{"continues": "main"}, {"continues": 0}, {"continues": 1}],
    "the name given again": [{"continues": "main", "bookmark": "main"}, {"continues": 0, "bookmark": "main"}],
    "another name": [{"continues": "main"}, {"continues": 0, "bookmark": "too"}],
    "a fork": [{"continues": "main"}, {"continues": 0}, {"continues": 0}],
    "a turn apart": [{"continues": "main"}, {}],
    "two at the name": [{"continues": "main"}, {"continues": "main"}],
    "a turn behind itself": [{"continues": "main"}, {"continues": 1}],
    "several before it": [{"continues": ["main", "side"]}, {"continues": 0}],
    "the first moves nothing": [{"continues": "main", "moves": False}, {"continues": 0}],
    "the last moves nothing": [{"continues": "main"}, {"continues": 0, "moves": False}],
    "the newest, too": [{"continues": "main", "respond": True}, {"continues": 0}],
    "a name that is expected elsewhere": [{"continues": "main", "expect": "0" * 25}, {"continues": 0}],
    "a turn that is expected elsewhere": [
        {"continues": "main"},
        {"continues": 0, "bookmark": "main", "expect": "0" * 25},
    ],
    "a key": [{"continues": "main"}, {"continues": 0, "key": "k"}],
    "everything else": [
        {"continues": "main", "said_at": 1_700_000_000_000, "attributes": {"language": "en"}},
        {"continues": 0, "inherited": {"a": 1}, "cache": True},
        {"continues": 1, "meta": {"m": 1}, "content": "y" * 3000},
    ],
}  # fmt: skip


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_a_batch_does_behind_a_remembered_name_what_it_does_behind_any(
    durable_place: Place, batch: list[dict[str, Any]], moves: bool
) -> None:
    said = [{"content": f"turn {number}", **each} for number, each in enumerate(batch)]
    found: list[Any] = []
    for remembers in (True, False):
        with durable_place.fresh() as store:
            store.add_turn("first", bookmark="main")
            store.add_turn("aside", bookmark="side")
            store.add_turn("second", continues="main")
            store.add_turn("nameless")
            if not remembers:
                store._remembered = NOTHING
            refused = None
            try:
                store.add_turns(said, moves=moves)
            except HeadishError as error:
                refused = type(error)
            names = {name: texts(store, name) for name in store.bookmarks}
            counts = store.stats()
            turns = [turn.digest for turn in store.turns()]
            found.append((refused, names, turns, counts.turns, counts.roots, counts.heads, counts.bookmarks))
            assert store.verify().problems == ()
    assert found[0] == found[1]


def test_a_batch_behind_a_remembered_name_is_stored_without_a_look(store: Store) -> None:
    """Its turns, small and large, in one statement each kind; then the name and its log."""
    store.add_turn("first", bookmark="main")
    for large in (False, True):
        said: list[dict[str, Any]] = [{"content": f"turn {number}", "continues": number - 1} for number in range(30)]
        said[0]["continues"] = "main"
        if large:
            said[7]["content"] = "x" * 5000
        with counted_statements() as counted:
            stored = store.add_turns(said)
        turns = 30 if database_of(store).dialect == "postgresql" else 1  # there each is counted, in one message
        assert counted.count == 1 + large + turns + 2
        assert [turn.text for turn in stored] == [each["content"] for each in said]
        assert store.bookmarks["main"] == stored[-1].id
        assert len(store.bookmarks.history("main")) == 2 + large, "a batch moves the name once"
    assert store.verify().problems == ()


def test_a_stream_of_more_than_a_batch_goes_on_behind_it(store: Store) -> None:
    store.add_turn("first", bookmark="main")
    said = [{"content": f"turn {number}", "continues": number - 1 if number else "main"} for number in range(1_005)]
    stored = store.add_turns(said)
    assert texts(store, "main") == ["first", *(f"turn {number}" for number in range(1_005))]
    assert store.bookmarks["main"] == stored[-1].id
    store.add_turn("behind it", continues="main")
    assert store.verify().problems == ()


def test_a_later_batch_that_says_the_name_again_is_stored_without_a_look(store: Store) -> None:
    store.add_turn("first", bookmark="main")
    said = [
        {"content": f"turn {number}", "continues": number - 1 if number % 1_000 else "main"} for number in range(1_020)
    ]
    with counted_statements() as counted:
        store.add_turns(said)
    # A server counts each turn, and makes its statistics anew behind the first thousand.
    turns = 1_020 + 1 if database_of(store).dialect == "postgresql" else 2
    assert counted.count == turns + 2 * 3
    assert texts(store, "main") == ["first", *(each["content"] for each in said)]


def test_a_batch_behind_a_remembered_name_keeps_to_what_the_space_may_hold(durable_place: Place) -> None:
    store = durable_place.fresh()
    store.add_turn("first", bookmark="main")
    Database(store._database).spaces.limit(store.space, turns=4)
    said = [{"content": "a", "continues": "main"}, {"content": "b", "continues": 0}]
    store.add_turns(said)
    with unchanged(store), pytest.raises(QuotaExceeded):
        store.add_turns(said)
    store.add_turn("the last", continues="main")


def test_a_name_is_as_recent_as_the_last_turn_of_its_batch(store: Store) -> None:
    store.add_turn("first", bookmark="main")
    store.add_turns(
        [{"content": "a", "continues": "main", "said_at": 2_000}, {"content": "b", "continues": 0, "said_at": 1_000}]
    )
    assert read(store, lambda connection: connection.row(RECENCY, space=store._number, name=b"main")) == (1_000,)


@pytest.mark.parametrize("size", [10, 3_000])
@pytest.mark.parametrize("others", [0, 2])
def test_what_another_store_barred_is_refused_behind_a_remembered_name(
    durable_place: Place, size: int, others: int
) -> None:
    store, eraser = durable_place.open(), durable_place.open()
    barred = store.add_turn("w" * size, bookmark="main")
    store.add_turn("second", continues="main")
    eraser.erase(barred.id, reason="nobody may say it", content=True)
    said = [*(f"turn {number}" for number in range(others)), "w" * size]
    for _ in range(2):
        with unchanged(store), pytest.raises(BarredContent):
            store.add_turns([{"content": text, "continues": at - 1 if at else "main"} for at, text in enumerate(said)])
        store.add_turn("third", continues="main")  # remembered again
    with unchanged(store), pytest.raises(BarredContent):
        store.add_turn("w" * size, continues="main")


def test_what_another_store_wrote_is_seen(durable_place: Place) -> None:
    one, other = durable_place.open(), durable_place.open()
    for index in range(6):
        (one, other)[index % 2].add_turn(str(index), bookmark="main", continues="main" if index else None)
    assert texts(one, "main") == [str(index) for index in range(6)]
    assert one.verify().problems == ()


@in_memory_too
def test_what_is_refused_is_not_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_turn("first", bookmark="main")

    def fail(*_: object) -> None:
        raise RuntimeError("before the commit")

    with monkeypatch.context() as patched:
        patched.setattr("headish.rows.bookmarks.run_on", fail)
        with unchanged(store), pytest.raises(RuntimeError):
            store.add_turn("refused", continues="main")
    store.add_turn("second", continues="main")
    assert texts(store, "main") == ["first", "second"]
    assert store.verify().problems == ()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM bookmark",
        "UPDATE bookmark SET pos = 0, move = 1, running = (SELECT running FROM bookmark_log WHERE move = 1)",
        "UPDATE bookmark SET running = zeroblob(32)",
    ],
)
def test_a_name_that_was_changed_behind_the_stores_back_is_read_anew(file_place: FilePlace, change: str) -> None:
    """As a copy over the open file does: the counter may say the same by then."""
    store = file_place.open()
    for text in ("first", "second"):
        store.add_turn(text, bookmark="main", continues="main" if text == "second" else None)
    run_sql(store, change)
    if "pos = 0" in change:
        run_sql(store, "DELETE FROM bookmark_log WHERE move = 2")
    if change.startswith("DELETE"):
        with unchanged(store), pytest.raises(UnknownTurn):
            store.add_turn("third", continues="main")
        return
    turn = store.add_turn("third", continues="main")
    assert store.bookmarks["main"] == turn.id
    assert texts(store, "main") == (["first", "third"] if "pos = 0" in change else ["first", "second", "third"])
