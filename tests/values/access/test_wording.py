"""What a caller reads of an error."""

from __future__ import annotations

from headish import errors
from headish.values.access.wording import words_for_callers

PLACE = "postgresql://headish@db.internal/history?sslmode=require"


def test_no_error_of_a_database_names_its_place_or_its_words() -> None:
    told = {
        kind: words_for_callers(kind(PLACE, "SELECT secret FROM turn"))
        for kind in (errors.DatabaseError, errors.DatabaseLocked, errors.DatabaseFull, errors.DatabaseUnavailable,
                     errors.DatabaseTimedOut, errors.DatabaseReadOnly, errors.NotADatabase, errors.CorruptRecord)
    }  # fmt: skip
    told[errors.SpaceRestoring] = words_for_callers(errors.SpaceRestoring(PLACE, "mine"))
    told[errors.UnknownSpace] = words_for_callers(errors.UnknownSpace(PLACE, "mine"))
    assert [words for words in told.values() if "db.internal" in words or "SELECT" in words] == []
    assert told[errors.UnknownSpace] == "there is no space 'mine'"
    assert told[errors.SpaceRestoring] == "the space is being restored, or a restore of it was cut off"
    assert told[errors.NotADatabase] == told[errors.DatabaseError]
    assert len(set(told.values())) == len(told) - 1


def test_other_errors_say_what_they_say() -> None:
    assert words_for_callers(errors.InvalidArgument("name what")) == "name what"
