"""Addresses of databases are read, shown and passed on as SQLAlchemy does it, which read them before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import URL, make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError

from headish import Store
from headish.database.urls import parse_url, server_arguments

ADDRESSES = [
    "postgresql://u:p%40s%2Fs@h:5432/db",
    "postgresql+psycopg://@/db?host=/tmp/x%20y",
    "postgresql://u@[::1]:5/d?sslmode=require&application_name=a%2Bb",
    "postgresql://h",
    "postgresql://h/",
    "postgresql:///db",
    "postgresql://u:@h/d",
    "postgresql://u:p@/d?host=a:1&host=b:2",
    "postgresql://u:p@/d?host=a&host=b",
    "postgresql://u:p@/d?host=a,b&port=1,2",
    "postgresql://u:p@/d?host=a,b&port=1&port=2",
    "postgresql://u:p@/d?host=a&host=b&port=7",
    "postgresql://u:p@/d?host=a:5433",
    "postgresql://h:1/d?connect_timeout=3",
    "postgresql://u:p@h/d?options=-csearch_path%3Dheadish",
    "postgresql://u:a:b@h/d",
    "postgresql://u:p@h/d?host=unix&user=v",
    "postgresql://U:P@H.example:5432/D%20x",
    "sqlite://",
    "sqlite:///a b.db",
    "sqlite:///a%20b%3Fc.db",
    "sqlite:////abs/%C3%BC.db?mode=ro",
    "sqlite:///a%zz.db",
]


def theirs(url: URL) -> tuple[Any, ...]:
    return url.drivername, url.username, url.password, url.host, url.port, url.database, dict(url.query)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_read_and_shown_as_before(address: str) -> None:
    url = parse_url(address)
    assert (*url[:6], dict(url.query)) == theirs(make_url(address))
    assert str(url) == make_url(address).render_as_string()


@pytest.mark.parametrize("address", [each for each in ADDRESSES if each.startswith("postgresql")])
def test_the_driver_is_told_what_it_was_told_before(address: str) -> None:
    try:
        _, told = PGDialect_psycopg().create_connect_args(make_url(address))  # type: ignore[no-untyped-call]
    except ArgumentError:
        with pytest.raises(ValueError, match="not both"):
            server_arguments(parse_url(address))
        return
    told.pop("context", None)
    # A list of nothing but commas says nothing of ports.
    wanted = {key: str(value) for key, value in told.items() if str(value).strip(",")}
    assert {key: str(value) for key, value in server_arguments(parse_url(address)).items()} == wanted


@given(st.text("ab:/@?&=%[]. é1", max_size=30))
def test_any_text_behind_the_driver_is_read_alike_or_refused(rest: str) -> None:
    address = f"postgresql://{rest}"
    try:
        wanted: Any = theirs(make_url(address))
    except (ArgumentError, ValueError):
        wanted = None
    try:
        url = parse_url(address)
        found: Any = (*url[:6], dict(url.query))
    except ValueError:
        found = None
    assert found == wanted


def test_a_file_whose_name_needs_a_percent_is_the_one_that_is_opened(tmp_path: Any) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a%20b.db") as store:
        store.add_turn("here", bookmark="main")
    with Store.open(tmp_path / "a b.db", create=False) as store:
        assert store.text("main") == "here"
