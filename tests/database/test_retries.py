"""Transactions that PostgreSQL could not order with the others are run again, whole, and for a while only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headish import Store
from headish.database import postgresql
from headish.errors import DatabaseError
from support.insides import database_of, unchanged

# A sequence counts on when a transaction is rolled back, so it tells how often one was tried.
REFUSAL = """
CREATE SEQUENCE tries;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('tries') <= {refused} THEN RAISE 'could not serialize access' USING ERRCODE = '{code}'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON turn FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@pytest.fixture
def store(new_postgresql: str) -> Iterator[Store]:
    with Store.open(new_postgresql) as store:
        store.add_turn("first", bookmark="main")
        yield store


def refuse(store: Store, refused: int, code: str) -> None:
    """Have the server turn the next so many turns away."""
    with database_of(store).schema_connection() as connection:
        connection.execute(REFUSAL.format(refused=refused, code=code))


def tries(store: Store) -> int:
    with database_of(store).schema_connection() as connection:
        return int(connection.execute("SELECT last_value FROM tries").fetchone()[0])


@pytest.mark.parametrize("code", ["40001", "40P01"], ids=["serialization failure", "deadlock"])
class TestRetries:
    def test_a_lost_race_is_run_again_and_stored_once(self, store: Store, code: str) -> None:
        refuse(store, 2, code)
        turn = store.add_turn("second", continues="main")
        assert tries(store) == 3
        assert [each.id for each in store.log("main", limit=1)] == [turn.id]
        assert store.stats().turns == 2
        assert store.verify().problems == ()

    def test_a_race_that_is_always_lost_is_named_in_the_end(
        self, store: Store, code: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql, "ATTEMPTS", 5)
        refuse(store, 1000, code)
        with unchanged(store), pytest.raises(DatabaseError, match="could not serialize access"):
            store.add_turn("second", continues="main")
        assert tries(store) == 5


def test_an_error_that_is_no_race_is_not_tried_again(store: Store) -> None:
    refuse(store, 1000, "P0001")
    with unchanged(store), pytest.raises(DatabaseError, match="PostgreSQL says"):
        store.add_turn("second", continues="main")
    assert tries(store) == 1
