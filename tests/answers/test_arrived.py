"""What arrived from elsewhere chooses no server here, no key and no call: whoever made it may be anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from headish import Store
from headish.errors import UnknownPointer
from support.loopback import Loopback
from support.places import Place


def begin_elsewhere(store: Store, server: Loopback) -> None:
    """An answer that its server still makes, asked with a key that the reply names."""
    reply = {"object": "response", "id": "resp_1", "status": "queued", "model": "m", "output": []}
    server.answer_json(reply)
    params = {"openai_responses": {"background": True, "store": True}}
    store.ask(
        "Think", bookmark="main", to="openai_responses", model="m", base_url=f"{server.url}/v1", key_env="TEST_KEY",
        params=params, stream=False,
    )  # fmt: skip


def test_a_reply_that_arrived_sends_no_key_to_its_server(place: Place, server: Loopback, tmp_path: Path) -> None:
    theirs, ours = place.open(), place.fresh()
    begin_elsewhere(theirs, server)
    assert theirs.get("main").meta.reply["key_env"] == "TEST_KEY"
    theirs.bundles.create(tmp_path / "a")
    ours.bundles.apply(tmp_path / "a")
    asked = len(server.requests)
    fetched = ours.streams.recover_remote()
    assert (fetched.turns, fetched.running, fetched.failed) == ((), (), ())
    with pytest.raises(UnknownPointer):
        ours.retry("main")
    assert len(server.requests) == asked
    assert ours.get("main").id == theirs.get("main").id
