"""What the gateway is told: within a second or two, and never a token."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headish import Database, Store
from headish.gateway.passing.access import ACCESS_FILE, Access, AccessFile, PointerPlace, Shown, find_admitted
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
        admitted = find_admitted(access, Shown(token))
        assert admitted is not None
        assert (admitted.space, admitted.label) == ("work", "cli")
        assert find_admitted(access, Shown(reading)) is None
        assert access.pointers["default"]["near"] == PointerPlace("openai", "http://127.0.0.1:1/v1", key_env="NEAR_KEY")
        assert access.pointers["default"]["far"].is_own
        assert token not in (folder / ACCESS_FILE).read_text()
        database.access_tokens.remove("cli", space="work")
        assert find_admitted(told(file, lambda now: not now.tokens), Shown(token)) is None


def told(file: AccessFile, done: object) -> Access:
    """What the file says once it says what is waited for."""
    while not done(file.now()):  # type: ignore[operator]
        time.sleep(0.05)
    return file.now()
