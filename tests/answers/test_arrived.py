"""What arrived from elsewhere chooses no server here, no key and no call: whoever made it may be anybody."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidArgument, UnknownPointer
from headish.values.blocks import ToolResult, ToolUse
from support import mcp_server
from support.command import Command
from support.insides import unchanged
from support.loopback import Loopback, event_stream
from support.machines import invite, machines, url_of
from support.places import Place
from support.providers.answers import anthropic_text


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


OPTIONS = {
    "provider_ptr": "dear",
    "servers": ["files"],
    "params": {"max_tokens": 7, "anthropic": {"mcp_servers": [{"type": "url", "url": "https://evil.example"}]}},
}


def prepare_both(theirs: Store, ours: Store) -> None:
    """Pointers and tools of the same names are here as well."""
    for store in (theirs, ours):
        store.pointers.set("dear", "anthropic/large", params={"max_tokens": 9})
        store.pointers.set("own", "anthropic/small", params={"max_tokens": 9})
        store.pointers.set_default("own")
        store.tools.set("files", [{"name": "read"}])
    theirs.add_turn("q", bookmark="main", inherited=OPTIONS)


def test_options_of_strangers_do_not_act(place: Place, tmp_path: Path) -> None:
    theirs, ours = place.open(), place.fresh()
    prepare_both(theirs, ours)
    theirs.bundles.create(tmp_path / "a")
    ours.bundles.apply(tmp_path / "a")
    request = ours.request("main")
    assert (request.ptr, request.model, request.body["max_tokens"]) == ("own", "small", 7)
    assert not request.body.keys() & {"tools", "mcp_servers"}
    told = "options from elsewhere are left out: provider_ptr, servers, params.anthropic"
    assert [(each.what, each.turn) for each in request.notes] == [(told, ours.get("main").id)]
    assert request.options == {"params.max_tokens": ours.get("main").id}
    assert ours.resolve("main").options == OPTIONS
    own = ours.add_turn("mine", continues="main", inherited={"servers": ["files"]})
    assert [each["name"] for each in ours.request(own.id).body["tools"]] == ["files___read"]
    assert theirs.request("main").ptr == "dear"


@pytest.mark.parametrize("plain", [False, True])
def test_options_of_ones_own_devices_act(tmp_path: Path, plain: bool) -> None:
    with machines(tmp_path) as make:
        desk, laptop = make("desk"), make("laptop")
        prepare_both(desk.store, laptop.store)
        url = url_of(tmp_path / "box")
        desk.add(url, plain=plain)
        if plain:
            laptop.add(url, plain=True)
        else:
            invite(desk, laptop, url)
        desk.sync()
        laptop.sync()
        request = laptop.store.request("main")
        assert (request.ptr, "tools" in request.body) == (("own", False) if plain else ("dear", True))


CALL = ToolUse("calc___add", "c1", {"a": 2, "b": 3})


def test_calls_of_strangers_run_only_where_somebody_approves(place: Place, tmp_path: Path) -> None:
    theirs, ours = place.open(), place.fresh()
    theirs.add_turn("q", bookmark="main")
    theirs.add_turn([CALL], role="assistant", continues="main")
    theirs.bundles.create(tmp_path / "a")
    ours.bundles.apply(tmp_path / "a")

    def run(calls: Sequence[ToolUse]) -> list[ToolResult]:
        return [ToolResult(call.id, call.name, ()) for call in calls]

    with unchanged(ours), pytest.raises(InvalidArgument, match="came from elsewhere"):
        ours.run_tools("main", lambda calls: pytest.fail(f"{calls} ran"))
    assert theirs.run_tools("main", run) is not None
    asked: list[ToolUse] = []

    def approve(call: ToolUse) -> bool:
        asked.append(call)
        return True

    assert ours.run_tools("main", run, approve=approve) is not None
    assert asked == [CALL]


@pytest.mark.slow
def test_yes_does_not_approve_calls_of_strangers(tmp_path: Path, server: Loopback) -> None:
    config = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"calc": config}}))
    with Store.open(tmp_path / "theirs.db") as theirs:
        theirs.add_turn("q", bookmark="main")
        theirs.add_turn([CALL], role="assistant", continues="main")
        theirs.bundles.create(tmp_path / "a")
    headish = Command(str(tmp_path / "ours.db"))
    headish("ptr", "set", "milli", "anthropic/small", "--base-url", server.url, "--key-env", "TEST_KEY")
    headish("bundle", "apply", str(tmp_path / "a"))
    server.answer(chunks=event_stream(anthropic_text("Pity.")))
    loop = ("--tool-loop", "--mcp-config", str(tmp_path / "servers.json"), "--yes")
    headish("ask", "-c", "main", "-p", "milli", *loop)
    [refused] = server.requests[0].body["messages"][-1]["content"]
    assert (refused["tool_use_id"], refused["is_error"]) == ("c1", True)
    assert "no terminal" in refused["content"][0]["text"]
