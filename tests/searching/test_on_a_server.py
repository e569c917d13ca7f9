"""A server sorts new words into its index late: what waits beside it is read by every search."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headish import Database, Store
from headish.database.urls import parse_url, server_arguments
from headish.history.searching import index
from support.secured import SEARCH, secured_database

PAGES = 8
"""64 KB, the least that a server lets wait."""


@pytest.fixture(params=["the owner", "a writer of a secured database"])
def writer(request: pytest.FixtureRequest, new_postgresql: str) -> Iterator[tuple[Store, str]]:
    """A store, and the URL of the owner of its index."""
    if request.param == "the owner":
        with Store.open(new_postgresql) as store:
            yield store, new_postgresql
        return
    with secured_database(new_postgresql) as logins, Database.open(logins.at("app")) as database:
        yield database.store("ana"), new_postgresql


def waiting(owner: str) -> int:
    """How many pages of words wait. They are sorted in by that."""
    with psycopg.connect(**(SEARCH | server_arguments(parse_url(owner))), autocommit=True) as connection:
        row = connection.execute("SELECT gin_clean_pending_list('search_text_words')").fetchone()
    assert row is not None
    return int(row[0])


def say(store: Store, turns: int) -> None:
    store.add_turns(" ".join(f"word{number}x{each}" for each in range(200)) for number in range(turns))


def test_behind_a_large_fill_no_search_reads_words_that_wait(writer: tuple[Store, str]) -> None:
    store, owner = writer
    say(store, 200)
    assert len(store.search("word150x7")) == 1
    assert waiting(owner) <= PAGES


def test_words_of_a_few_turns_may_wait_and_no_more(writer: tuple[Store, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PORTION_TURNS", 1)
    store, owner = writer
    say(store, 60)
    assert len(store.search("word50x7")) == 1
    assert waiting(owner) <= PAGES + 1  # the row that comes last may need another page
