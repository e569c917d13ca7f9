"""JSON-RPC that no client of good will sends: it is refused by name, stores nothing, and reaches nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from headish import Database, Store
from support.loops import failing
from support.places import Place
from support.serving import Served, serving

pytestmark = pytest.mark.slow
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOTE = {"name": "save_note", "arguments": {"text": "A note that nobody asked for."}}
SAVE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": NOTE}
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


def spelled(inside: str, **further: Any) -> bytes:
    """A call of a tool whose arguments are spelled as they are given."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "save_note", "arguments": {}}}
    return json.dumps(call | further).replace('"arguments": {}', f'"arguments": {inside}').encode()


BODIES: dict[str, tuple[bytes | Any, set[int]]] = {
    "a batch": ([SAVE, SAVE], {INVALID_REQUEST, INVALID_PARAMS}),
    "an empty batch": ([], {INVALID_REQUEST, INVALID_PARAMS}),
    "a number": (5, {INVALID_REQUEST, INVALID_PARAMS}),
    "nothing": (b"", {PARSE_ERROR}),
    "half an object": (json.dumps(SAVE).encode()[:-1], {PARSE_ERROR}),
    "another encoding": (json.dumps(SAVE).encode("utf-16"), {PARSE_ERROR}),
    "bytes that are no text": (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', {PARSE_ERROR}),
    "half a character": (spelled('{"text": "\\ud800"}'), {PARSE_ERROR}),
    "deep lists": (b"[" * 100_000 + b"]" * 100_000, {PARSE_ERROR}),
    "a deep argument": (spelled('{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"), {PARSE_ERROR}),
    "a huge number": (spelled('{"text": ' + "9" * 100_000 + "}"), {PARSE_ERROR}),
    "an infinite number": (spelled('{"text": "a", "tags": [1e999]}'), set()),
    "no method": ({"jsonrpc": "2.0", "id": 1}, {INVALID_REQUEST, INVALID_PARAMS}),
    "a method that is no text": ({**SAVE, "method": 5}, {INVALID_REQUEST, INVALID_PARAMS}),
    "another version of JSON-RPC": ({**SAVE, "jsonrpc": "1.0"}, {INVALID_REQUEST, INVALID_PARAMS}),
    "an unknown method": ({**PING, "method": "rpc.discover"}, {METHOD_NOT_FOUND}),
    "a notification with an id": ({**PING, "method": "notifications/initialized"}, {METHOD_NOT_FOUND}),
    "parameters in a list": ({**SAVE, "params": ["save_note"]}, {INVALID_REQUEST, INVALID_PARAMS}),
    "arguments in a list": (spelled('["text"]'), {INVALID_PARAMS}),
    "a prompt": ({**PING, "method": "prompts/get", "params": {"name": "x"}}, {METHOD_NOT_FOUND}),
    "a resource": ({**PING, "method": "resources/read", "params": {"uri": "file:///etc"}}, {METHOD_NOT_FOUND}),
}


class Asked:
    """A client of ``/mcp`` with a token, and without the manners of the official one."""

    def __init__(self, served: Served, token: str) -> None:
        accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        self._client = served.client(token=token)
        self._client.headers.update(accepted)

    def __call__(self, body: Any, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._client.post("/mcp", content=content, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def calls(self, tool: str, **arguments: Any) -> Any:
        """What a tool gives, or the words in which it refuses."""
        params = {"name": tool, "arguments": arguments}
        result = self({**SAVE, "params": params}).json()["result"]
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mcp") / "talk.db"
    for space in ("default", "other"):
        with Store.open(made, space=space) as store:
            store.add_turn(f"The secret of the space {space}.", bookmark="work")
    return made


@pytest.fixture(scope="module")
def served(path: Path) -> Iterator[Served]:
    with serving(path, path.parent / "state") as made:
        yield made


def token_of(path: Path, space: str = "default", *rights: Any) -> str:
    with Database.open(path) as database:
        label = f"agent-{len(database.access_tokens.list())}"
        return str(database.access_tokens.add(label, space=space, rights=list(rights) or ["read", "write"]))


@pytest.fixture(scope="module")
def asked(served: Served, path: Path) -> Asked:
    return Asked(served, token_of(path))


def turns_of(path: Path) -> int:
    with Store.open(path) as store:
        return store.stats().turns


@pytest.mark.parametrize("what", BODIES)
def test_what_is_no_request_is_refused_and_stores_nothing(asked: Asked, path: Path, what: str) -> None:
    body, codes = BODIES[what]
    before = turns_of(path)
    answer = asked(body)
    assert answer.status_code in (200, 400, 404), answer.text
    told = answer.json()
    if codes:
        assert told["error"]["code"] in codes, told
    else:
        assert told["result"]["isError"], told
    assert "Traceback" not in answer.text
    assert turns_of(path) == before
    assert asked(PING).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("id", [None, 1.5, True, [1], {"a": 1}, "without"])
def test_a_call_whose_id_is_none_is_not_carried_out(asked: Asked, path: Path, id: Any) -> None:
    before = turns_of(path)
    call = {name: value for name, value in SAVE.items() if name != "id"}
    answer = asked(call if id == "without" else {**call, "id": id})
    assert (answer.status_code, answer.content) == (202, b"") or answer.json()["error"]["code"] == INVALID_REQUEST
    assert turns_of(path) == before


@pytest.mark.parametrize("id", ["", "x" * 10_000, -1, 2**63, 10**300])
def test_an_id_comes_back_as_it_was_sent(asked: Asked, id: Any) -> None:
    assert asked({**PING, "id": id}).json() == {"jsonrpc": "2.0", "id": id, "result": {}}


def test_of_a_key_twice_the_last_is_meant_everywhere(asked: Asked) -> None:
    """So what is checked, the space and its right, is of the call that is carried out."""
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/call","params":'
    body += b'{"name":"save_note","name":"read_turn","arguments":{"headish":"nowhere","headish":"work"}}}'
    told = asked(body).json()
    assert told["id"] == 2
    assert "The secret of the space default." in told["result"]["content"][0]["text"]


def test_a_version_that_nobody_speaks_is_answered_with_one_that_is_spoken(asked: Asked) -> None:
    def begin(version: Any) -> Any:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
        return asked({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).json()

    spoken = begin("2025-11-25")["result"]
    assert spoken["protocolVersion"] == "2025-11-25"
    assert set(spoken["capabilities"]) == {"tools"}
    for version in ("1999-01-01", "9999-01-01", "", "x" * 10_000, "2025-11-25\n"):
        assert begin(version)["result"]["protocolVersion"] == "2025-11-25", version
    for version in (3, None, ["2025-11-25"]):
        assert begin(version)["error"]["code"] == INVALID_PARAMS, version
    for version in ("1999-01-01", "9999-01-01", "x" * 1000):
        assert asked(PING, MCP_Protocol_Version=version).status_code == 400, version


def test_there_is_no_session_to_be_taken_over(served: Served, path: Path, asked: Asked) -> None:
    reading = Asked(served, token_of(path, "default", "read"))
    begun = asked(PING)
    assert "mcp-session-id" not in begun.headers
    refused = reading(SAVE, Mcp_Session_Id="of-the-writer").json()["result"]
    assert refused["isError"]
    assert "takes the right 'write'" in refused["content"][0]["text"]
    for method in ("GET", "DELETE", "PUT"):
        answer = asked._client.request(method, "/mcp")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST"), method


def test_calls_of_one_id_at_once_are_each_of_their_own_space(served: Served, path: Path) -> None:
    """And a cancellation by that id, of whichever space, ends nobody's call."""
    clients = {space: Asked(served, token_of(path, space)) for space in ("default", "other")}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    def look(number: int) -> tuple[str, Any]:
        space = ("default", "other")[number % 2]
        if number % 5 == 4:
            assert clients[space](cancel).status_code == 202
        return space, clients[space].calls("read_turn", headish="work")

    with ThreadPoolExecutor(8) as several:
        found = list(several.map(look, range(60)))
    for space, told in found:
        assert [each["text"] for each in told["messages"]] == [f"The secret of the space {space}."]


def test_a_program_goes_on_behind_lines_that_are_no_requests(path: Path) -> None:
    """Over stdio a call that is cancelled may be left without an answer; the others are answered, each once."""
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    call = {**SAVE, "params": {"name": "read_turn", "arguments": {"headish": "work"}}}
    lines = [{"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": begin}]
    lines += [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines += [body for what, (body, _) in BODIES.items() if what != "another encoding"]
    lines += [{**call, "id": number} for number in range(100, 110)]
    lines += [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 109}}]
    lines += [{**PING, "id": "end"}]
    sent = b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines)
    command = [sys.executable, "-m", "headish_cli", "--db", str(path), "mcp"]
    before, ids = turns_of(path), []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(sent)
        program.stdin.flush()
        while not {"begin", "end", *range(100, 109)} <= set(ids):
            ids.append(json.loads(program.stdout.readline())["id"])
        program.stdin.close()
    assert program.returncode == 0
    assert all(ids.count(number) == 1 for number in range(100, 109))
    assert turns_of(path) == before


def test_over_stdio_a_line_that_is_not_a_message_gets_an_error_without_an_id(path: Path) -> None:
    sent = b'not JSON\n{"a": 1}\n' + json.dumps(PING).encode() + b"\nnor this\n"
    command = [sys.executable, "-m", "headish_cli", "--db", str(path), "mcp"]
    done = subprocess.run(command, input=sent, capture_output=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [each["error"]["code"] for each in answers if each["id"] is None]
    assert codes == [PARSE_ERROR, INVALID_REQUEST, PARSE_ERROR]
    assert done.returncode == 0


ODD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_history", {"query": "a\0b"}),
    ("search_history", {"query": ""}),
    ("search_history", {"query": '"'}),
    ("search_history", {"query": "*"}),
    ("search_history", {"query": "a" * 100_000}),
    ("search_history", {"query": "secret", "limit": 10**300}),
    ("search_history", {"query": "secret", "limit": -(10**300)}),
    ("search_history", {"query": "secret", "since": "0000-00-00"}),
    ("search_history", {"query": "secret", "since": "9999-12-31T23:59:59.999999+14:00"}),
    ("search_history", {"query": "secret", "cursor": "!"}),
    ("search_history", {"query": "secret", "cursor": "WzllMzAwLDBd"}),
    ("search_history", {"query": "secret", "cursor": "Wy0xLDBd"}),
    ("search_history", {"query": "secret", "name": "[" * 1000, "tool": "\0", "exclude_session": "\0"}),
    ("list_conversations", {"name": "\0"}),
    ("list_conversations", {"tag": "\0", "since": "\0"}),
    ("list_conversations", {"limit": 0, "cursor": "WzEwMDAsMTAwMF0"}),
    ("read_thread", {"headish": "\0"}),
    ("read_thread", {"headish": "work" + "~" * 2000}),
    ("read_thread", {"headish": "work~999999999999999999999"}),
    ("read_thread", {"headish": "work", "around": "../../etc/passwd"}),
    ("read_turn", {"headish": "work", "cursor": "WzAsOTk5OTk5OTk5OTk5OTldXQ"}),
    ("compare", {"a": "work", "b": ""}),
    ("save_note", {"text": "\0"}),
    ("save_note", {"text": "a", "tags": ["\0"]}),
    ("save_note", {"text": "a", "tags": [""]}),
    ("fork", {"headish": "work", "name": "\0"}),
    ("fork", {"headish": "work", "name": "../work"}),
    ("fork", {"headish": "work", "name": "x" * 100_000}),
)


def test_odd_arguments_are_answered_on_both_databases(place: Place, tmp_path: Path) -> None:
    """With a result or in words, never with a failure of the server or of the database."""
    store = place.open()
    store.add_turn("The secret.", bookmark="work")
    with Database.open(place.target) as database:
        token = str(database.access_tokens.add("odd", space=store.space, rights=["read", "write"]))
    with serving(place.target, tmp_path / "state", space=store.space) as served:
        asked = Asked(served, token)

        def check(tool: str, arguments: dict[str, Any]) -> None:
            answer = asked({**SAVE, "params": {"name": tool, "arguments": arguments}})
            assert answer.status_code == 200, answer.text
            result = answer.json()["result"]
            assert not (result["isError"] and "database" in answer.text), answer.text
            assert "Internal" not in answer.text, answer.text
            assert "Traceback" not in answer.text, answer.text

        assert failing(ODD, check) == {}
    assert store.verify().problems == ()
