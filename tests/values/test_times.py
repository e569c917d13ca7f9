"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.values.times import local_times, parse_time, read_moment
from support.zones import in_zone, needs_zones


def near(moment: datetime, expected: datetime) -> bool:
    return abs(moment - expected) < timedelta(minutes=1)


class TestForms:
    def test_rfc_3339_and_dates_are_utc_where_they_have_no_offset(self) -> None:
        assert parse_time("2024-05-01T12:00:00+02:00") == datetime(2024, 5, 1, 10, tzinfo=UTC)
        assert parse_time("2024-05-01 12:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)
        assert parse_time("2024-05-01") == datetime(2024, 5, 1, tzinfo=UTC)

    def test_a_day_alone_begins_or_ends(self) -> None:
        assert parse_time("2024-02-29", ends=True) == datetime(2024, 3, 1, tzinfo=UTC)
        assert parse_time("yesterday", ends=True) == parse_time("today")
        assert parse_time("today") - parse_time("yesterday") == timedelta(days=1)
        assert parse_time("yesterday 18:30") - parse_time("yesterday") == timedelta(hours=18, minutes=30)

    @pytest.mark.parametrize(
        ("text", "before"),
        [
            ("now", timedelta()), ("5 minutes ago", timedelta(minutes=5)), ("an hour ago", timedelta(hours=1)),
            ("3.days.ago", timedelta(days=3)), ("2 Weeks  Ago", timedelta(weeks=2)), ("1-day-ago", timedelta(days=1)),
        ],
    )  # fmt: skip
    def test_a_time_before_now(self, text: str, before: timedelta) -> None:
        assert near(parse_time(text), datetime.now(UTC) - before)

    @pytest.mark.parametrize(
        "text", ["", "soon", "0 ago", "999999999 weeks ago", "2024-13-01", "9999-12-31T24", "٣ days ago"]
    )
    def test_what_is_no_time_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidArgument, match=r"since: .* is not a time"):
            read_moment(text, "since")

    def test_a_datetime_needs_a_zone(self) -> None:
        assert read_moment(datetime(2024, 5, 1, tzinfo=UTC), "since") == datetime(2024, 5, 1, tzinfo=UTC)
        with pytest.raises(InvalidArgument, match="with a zone"):
            read_moment(datetime(2024, 5, 1), "since")


@needs_zones
class TestZones:
    def test_the_command_reads_them_in_the_zone_of_the_machine(self, store: Store) -> None:
        with in_zone("Asia/Kolkata"):
            with local_times():
                assert parse_time("2024-05-01 12:00") == datetime(2024, 5, 1, 6, 30, tzinfo=UTC)
                assert parse_time("2024-05-01T12:00Z") == datetime(2024, 5, 1, 12, tzinfo=UTC)
            assert parse_time("2024-05-01 12:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)

    def test_a_headish_is_not_read_from_memory(self, store: Store) -> None:
        turn = store.add_turn("a", bookmark="main")
        assert store.get("main@{now}").id == turn.id
        assert store.get("main@{0 minutes ago}").id == turn.id
