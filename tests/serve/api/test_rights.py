"""Each operation beside each right, in the token's space and in others."""

from __future__ import annotations

from pathlib import Path

import httpx2 as httpx
import pytest

from headish import Database
from headish.serve.api.openapi import examples
from headish.serve.api.table import VERBS, ApiVerb, BodyForm
from headish.values.access.tokens import RIGHTS
from support.loops import failing
from support.serving import serving

API = "/api/v1"


def ask(client: httpx.Client, verb: ApiVerb, **query: str) -> httpx.Response:
    """A request that is good but for who sends it: that of the example."""
    shown = examples().get(verb.name, {})
    headers = {"Accept": "application/json"}
    params = {**shown.get("query", {}), **query}
    if verb.method == "GET":
        return client.get(f"{API}{verb.path}", params=params, headers=headers)
    if verb.form is BodyForm.BODY:
        return client.post(f"{API}{verb.path}", params=params, content=b"{}", headers=headers)
    return client.post(f"{API}{verb.path}", params=query, json=shown.get("request", {"stream": "x"}), headers=headers)


def held(database: Database, space: str) -> tuple[int, int, int]:
    with database.store(space) as store:
        found = store.stats()
    return found.turns, found.bookmarks, found.payload_bytes


@pytest.mark.slow
def test_an_operation_is_there_for_its_right_alone_and_no_other_space_is_told_from_none(tmp_path: Path) -> None:
    place = tmp_path / "talk.db"
    with Database.open(place) as database:
        for space in ("here", "elsewhere"):
            with database.store(space) as store:
                store.add_turn("CANARY", bookmark="main", key="chat:1")
        tokens = {right: database.access_tokens.add(right, space="here", rights=[right]) for right in RIGHTS}
        before = [held(database, space) for space in ("here", "elsewhere")]
    with serving(place, tmp_path / "state") as served:
        clients = {right: served.client(token=token) for right, token in tokens.items()}

        def check(name: str) -> None:
            verb = next(each for each in VERBS if each.name == name)
            for right, client in clients.items():
                if right != verb.right:
                    refused = ask(client, verb)
                    assert (refused.status_code, refused.json()["code"]) == (403, "RightMissing"), (right, refused.text)
                    assert refused.json()["facts"] == {"right": verb.right, "space": "here"}
                other, none = ask(client, verb, space="elsewhere"), ask(client, verb, space="nothing00")
                assert (other.status_code, none.status_code) == (404, 404), right
                assert other.text.replace("elsewhere", "nothing00") == none.text
                assert "CANARY" not in other.text
            stranger = ask(served.stranger(), verb)
            assert (stranger.status_code, "CANARY" in stranger.text) == (401, False)

        assert failing([verb.name for verb in VERBS], check) == {}
    with Database.open(place) as database:
        assert [held(database, space) for space in ("here", "elsewhere")] == before
        assert list(database.spaces) == ["default", "elsewhere", "here"]
