"""What the gateway is told: within a second or two, and never a token."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from headish import Database, Store
from headish.gateway.passing.access import ACCESS_FILE, Access, AccessFile, PointerPlace, ShownToken, find_admitted
from headish.providers.pointers import Pointer, encode_pointer
from headish.rows.definitions import POINTER
from headish.store.asking.pointers import define
from support.serving import serving

pytestmark = pytest.mark.slow


def test_the_gateway_learns_of_tokens_and_pointers(tmp_path: Path) -> None:
    place, folder = tmp_path / "talk.db", tmp_path / "state"
    with serving(place, folder), Database.open(place) as database, Store.open(place) as store:
        database.spaces.add("work")
        token = database.access_tokens.add("cli", space="work", rights=["gateway"])
        reading = database.access_tokens.add("page", space="work", rights=["read"])
        store.pointers.set("near", "openai/m", base_url="http://127.0.0.1:1/v1", key_env="NEAR_KEY")
        store.pointers.set("far", "anthropic/m")
        file = AccessFile(folder / ACCESS_FILE)
        access = told(file, lambda now: len(now.pointers.get("default", {})) == 2 and bool(now.tokens))
        admitted = find_admitted(access, ShownToken(token))
        assert admitted is not None
        assert (admitted.space, admitted.label) == ("work", "cli")
        assert find_admitted(access, ShownToken(reading)) is None
        assert access.pointers["default"]["near"] == PointerPlace("openai", "http://127.0.0.1:1/v1", key_env="NEAR_KEY")
        assert access.pointers["default"]["far"].is_own
        assert token not in (folder / ACCESS_FILE).read_text()
        database.access_tokens.remove("cli", space="work")
        assert find_admitted(told(file, lambda now: not now.tokens), ShownToken(token)) is None


def test_a_space_that_cannot_be_read_keeps_no_token_alive(tmp_path: Path) -> None:
    place, folder = tmp_path / "talk.db", tmp_path / "state"
    with serving(place, folder), Database.open(place) as database, Store.open(place, space="work") as store:
        database.access_tokens.add("other", space="work", rights=["gateway"])
        token = database.access_tokens.add("cli", space="default", rights=["gateway"])
        store.pointers.set("near", "anthropic/m")
        file = AccessFile(folder / ACCESS_FILE)
        told(file, lambda now: len(now.tokens) == 2 and bool(now.pointers.get("work")))
        with sqlite3.connect(place) as connection:
            assert connection.execute("UPDATE definition SET data = X'00' WHERE kind = 'pointer'").rowcount
        database.access_tokens.remove("cli", space="default")
        until = time.monotonic() + 120
        assert (
            find_admitted(told(file, lambda now: len(now.tokens) == 1 or time.monotonic() > until), ShownToken(token))
            is None
        )
        assert file.now().pointers["work"] == {}


def test_a_pointer_to_a_provider_that_is_not_known_keeps_no_token_alive(tmp_path: Path) -> None:
    place, folder = tmp_path / "talk.db", tmp_path / "state"
    with Database.open(place) as database, Store.open(place) as store:
        token = database.access_tokens.add("cli", space="default", rights=["gateway"])
        store.pointers.set("near", "anthropic/m")
        newer = encode_pointer(Pointer("newcomer", "m"))  # as a newer headish may store it
        define(store.pointers._space, POINTER, b"later", newer)
        with serving(place, folder):
            file = AccessFile(folder / ACCESS_FILE)
            until = time.monotonic() + 20
            access = told(file, lambda now: now.tokens or time.monotonic() > until)
            assert find_admitted(access, ShownToken(token)) is not None
            assert list(access.pointers["default"]) == ["near"]


def told(file: AccessFile, done: object) -> Access:
    """What the file says once it says what is waited for."""
    while not done(file.now()):  # type: ignore[operator]
        time.sleep(0.05)
    return file.now()
