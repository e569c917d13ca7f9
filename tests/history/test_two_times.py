"""Two times: when a turn was stored, and when it was said (rule R29, two times)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.content.drafts import make_message_draft
from headish.errors import InvalidArgument
from headish.values.blocks import Text
from headish.values.ids import time_of
from headish.values.messages import Message
from headish.values.times import from_milliseconds, milliseconds_of
from support.insides import add_draft, run_sql, unchanged
from support.places import FilePlace, Place

SAID = datetime(2023, 2, 5, 14, 23, 50, 983_000, UTC)
SAID_MILLISECONDS = 1_675_607_030_983
DAY = timedelta(days=1)

WRITERS: dict[str, Callable[[Store, Any], Any]] = {
    "add_turn": lambda store, said_at: store.add_turn("hi", said_at=said_at),
    "add_turns": lambda store, said_at: store.add_turns([{"content": "hi", "said_at": said_at}])[0],
    "add_document": lambda store, said_at: store.add_document(b"hi", name="a.txt", said_at=said_at),
    "record": lambda store, said_at: store.record([{"role": "user", "content": "hi", "said_at": said_at}]).tip,
}


@pytest.mark.parametrize("writer", WRITERS)
class TestWhatIsGiven:
    def test_a_time_with_a_zone_is_kept_in_milliseconds(self, store: Store, writer: str) -> None:
        east = timezone(timedelta(hours=5, minutes=45))
        turn = WRITERS[writer](store, SAID.astimezone(east) + timedelta(microseconds=999))
        assert turn.said_at == SAID
        assert turn.meta.system["said_at"] == SAID_MILLISECONDS
        assert store.get(turn.id).said_at == SAID

    def test_so_are_milliseconds(self, store: Store, writer: str) -> None:
        assert WRITERS[writer](store, SAID_MILLISECONDS).said_at == SAID

    def test_when_it_was_stored_is_told_as_before(self, store: Store, writer: str) -> None:
        turn = WRITERS[writer](store, SAID)
        assert turn.time == time_of(turn.id) > SAID

    def test_without_it_a_turn_was_said_when_it_was_stored(self, store: Store, writer: str) -> None:
        turn = WRITERS[writer](store, None)
        assert turn.said_at == turn.time
        assert "said_at" not in turn.meta.system

    @pytest.mark.parametrize(
        "given",
        [
            datetime(2023, 2, 5, 14, 23),
            "2023-02-05T14:23:50Z",
            1_675_607_030.983,
            True,
            -1,
            datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
            2**80,
        ],
    )
    def test_what_is_no_time_is_refused(self, store: Store, writer: str, given: object) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="said_at"):
            WRITERS[writer](store, given)

    def test_nothing_was_said_more_than_a_day_from_now(self, store: Store, writer: str) -> None:
        now = datetime.now(UTC)
        with unchanged(store), pytest.raises(InvalidArgument, match="tomorrow"):
            WRITERS[writer](store, now + DAY + timedelta(minutes=10))
        assert WRITERS[writer](store, now + DAY - timedelta(minutes=10)).said_at > now


class TestWhereItStands:
    def test_it_is_under_the_seal_and_not_in_the_digest(self, store: Store) -> None:
        now, then = store.add_turn("hi"), store.add_turn("hi", said_at=SAID)
        assert now.digest == then.digest
        assert now.seal != then.seal
        assert store.verify().problems == ()

    def test_verify_finds_one_that_was_altered(self, file_place: FilePlace) -> None:
        store = file_place.open()
        turn = store.add_turn("hi", said_at=SAID)
        run_sql(store, "UPDATE turn SET system = CAST('{\"said_at\":5}' AS BLOB)")
        assert [problem.subject for problem in store.verify().problems] == [f"turn {turn.id}"]

    @pytest.mark.parametrize("damage", ['{"said_at":"x"}', '{"said_at":-5}', '{"said_at":9e99}', '{"said_at":true}'])
    def test_a_damaged_one_is_told_by_verify_and_breaks_no_list(self, file_place: FilePlace, damage: str) -> None:
        store = file_place.open()
        turn = store.add_turn("hi", said_at=SAID)
        run_sql(store, f"UPDATE turn SET system = CAST('{damage}' AS BLOB)")
        assert store.log()[0].said_at == turn.time
        assert any("said_at" in problem.what for problem in store.verify().problems)

    def test_a_document_keeps_its_name_beside_it(self, store: Store) -> None:
        turn = store.add_document(b"hi", name="a.txt", said_at=SAID)
        assert turn.meta.system == {"document_name": "a.txt", "file_size": 2, "said_at": SAID_MILLISECONDS}

    def test_as_plain_data_it_stands_in_the_meta(self, store: Store) -> None:
        assert store.add_turn("hi", said_at=SAID).to_dict()["meta"]["said_at"] == SAID_MILLISECONDS

    @given(st.datetimes(timezones=st.timezones()))
    def test_milliseconds_come_back(self, moment: datetime) -> None:
        milliseconds = milliseconds_of(moment)
        assert milliseconds_of(from_milliseconds(milliseconds)) == milliseconds
        assert timedelta(0) <= moment - from_milliseconds(milliseconds) < timedelta(milliseconds=1)


class TestWhatGoesByIt:
    def test_names_are_listed_by_it(self, store: Store) -> None:
        store.add_turn("new", bookmark="new")
        store.add_turn("old", bookmark="old", said_at=SAID)
        store.add_turn("older", bookmark="older", said_at=SAID - DAY)
        assert [each.name for each in store.bookmarks.list(by="recency")] == ["new", "old", "older"]
        store.add_turn("again", continues="older")
        assert [each.name for each in store.bookmarks.list(by="recency")] == ["older", "new", "old"]

    def test_a_recorded_list_puts_its_name_there(self, store: Store) -> None:
        store.add_turn("new", bookmark="new")
        store.record([{"role": "user", "content": "old", "said_at": SAID}], bookmark="old")
        assert [each.name for each in store.bookmarks.list(by="recency")] == ["new", "old"]

    def test_where_a_name_was_goes_by_when_it_moved(self, store: Store) -> None:
        before = datetime.now(UTC)
        time.sleep(0.002)
        turn = store.add_turn("old", bookmark="old", said_at=SAID)
        [move] = store.bookmarks.history("old")
        assert move.time > before
        assert store.get(f"old@{{{(move.time + DAY).isoformat()}}}") == turn

    def test_the_newest_turn_is_the_one_that_was_stored_last(self, store: Store) -> None:
        store.add_turn("new")
        old = store.add_turn("old", said_at=SAID)
        assert store.get("@") == old

    def test_usage_by_day_counts_it_on_the_day_it_was_said(self, store: Store) -> None:
        kept = {"reply": {"provider": "anthropic", "model": "m"}, "said_at": SAID_MILLISECONDS}
        message = Message(role="assistant", content=(Text("a"),))
        add_draft(store, make_message_draft(message, 1000, system=kept))
        assert [count.key for count in store.usage(by="day")] == ["2023-02-05"]

    def test_a_page_shows_it(self, store: Store) -> None:
        store.add_turn("hi", said_at=SAID, bookmark="main")
        assert SAID.isoformat(timespec="seconds") in store.render("main", "html")


class TestImports:
    def lines(self, *dates: object) -> bytes:
        root: dict[str, Any] = {"message_id": "1", "text": "q", "role": "prompter", "replies": []}
        for number, date in enumerate(dates[1:]):
            root["replies"].append({"text": str(number), "role": "assistant", "created_date": date})
        return json.dumps({"message_tree_id": "tree", "prompt": {**root, "created_date": dates[0]}}).encode()

    def imported(self, store: Store, place: Place, *dates: object) -> Any:
        from io import BytesIO

        return store.import_file(BytesIO(self.lines(*dates)), "oasst")

    def test_a_message_keeps_the_time_that_the_file_names(self, store: Store, place: Place) -> None:
        done = self.imported(store, place, SAID.isoformat(), (SAID + DAY).isoformat())
        assert done.untimed == 0
        assert store.get("tree").said_at == SAID
        assert [turn.said_at for turn in store.children("tree")] == [SAID + DAY]
        store.add_turn("new", bookmark="new")
        assert [each.name for each in store.bookmarks.list(by="recency")] == ["new", "tree"]

    def test_one_that_cannot_be_is_left_out_and_counted(self, store: Store, place: Place) -> None:
        done = self.imported(
            store, place, None, "1969-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "soon", 5.5, "2023-01-01"
        )
        assert (done.added, done.untimed) == (6, 5)
        assert all(turn.said_at == turn.time for turn in store.turns())
