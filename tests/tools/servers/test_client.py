"""Tool servers that run as processes of their own: what they offer, what they answer, and what becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread, Timer
from typing import Any, NamedTuple

import pytest

from headish.errors import InvalidArgument, InvalidName, ServerFailed
from headish.tools.servers import RESULT_LIMIT_BYTES, HttpServer, ServerConfig, StdioServer, ToolServers
from headish.values.blocks import Base64Source, Document, Text, ToolResult, ToolUse
from support import mcp_server
from support.mcp_server import LARGE_BYTES, PIXEL, RUDE_TOOLS, TOOLS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("tool servers")]
"""A server takes a second to import its package: one process starts those that the tests share."""

SCRIPT = str(Path(mcp_server.__file__).resolve())
CALC = StdioServer(sys.executable, (SCRIPT,))
RUDE = StdioServer(sys.executable, (SCRIPT, "--rude"))
KEY = {"Authorization": "Bearer right"}
POLITE = ("calc", "far", "old")


class Serving(NamedTuple):
    """A server at an address, and its process."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def http_server(*flags: str) -> Iterator[Serving]:
    """A server that runs for the block."""
    with subprocess.Popen([sys.executable, SCRIPT, "--http", *flags], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield Serving(f"http://127.0.0.1:{int(process.stdout.readline())}/mcp", process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def far() -> Iterator[str]:
    with http_server() as serving:
        yield serving.url


@pytest.fixture(scope="module")
def servers(far: str) -> Iterator[ToolServers]:
    """The same tools three times, and a server that does not keep to the protocol."""
    with ExitStack() as stack:
        old = stack.enter_context(http_server("--old"))
        configs: dict[str, ServerConfig] = {
            "calc": CALC,
            "far": HttpServer(far, KEY),
            "old": HttpServer(old.url, KEY),
            "rude": RUDE,
        }
        yield stack.enter_context(ToolServers(configs, call_seconds=60))


@pytest.fixture(params=POLITE)
def polite(request: pytest.FixtureRequest) -> str:
    """The name of a server that keeps to the protocol: a program, an HTTP server, and one of an older protocol."""
    name: str = request.param
    return name


def said(result: ToolResult) -> str:
    """The text of a result that is one text."""
    [block] = result.content
    assert isinstance(block, Text)
    return block.text


def reason(result: ToolResult) -> str:
    """The sentence of an error result."""
    assert result.is_error is True
    return said(result)


def rude(started: Path) -> StdioServer:
    """The rude server, which writes its process's id into a file."""
    return StdioServer(sys.executable, (SCRIPT, "--rude", "--started", str(started)))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class TestListing:
    def test_all_pages_are_listed(self, servers: ToolServers, polite: str) -> None:
        assert servers.tools()[polite] == TOOLS

    def test_tools_are_listed_as_the_server_said_them_with_keys_that_nobody_knows_in_its_order(
        self, servers: ToolServers
    ) -> None:
        assert json.dumps(servers.tools()["rude"]) == json.dumps(RUDE_TOOLS)

    def test_a_list_that_never_ends_is_refused(self) -> None:
        endless = StdioServer(sys.executable, (SCRIPT, "--rude", "--endless"))
        with pytest.raises(ServerFailed, match="on more than 100 pages"), ToolServers({"rude": endless}):
            pass


class TestAnswers:
    def test_a_call_gives_a_result_with_its_id_and_name(self, servers: ToolServers, polite: str) -> None:
        result = servers.call(polite, "add", {"a": 2, "b": 40}, tool_use_id="c1")
        assert result == ToolResult("c1", f"{polite}___add", (Text("42"),))

    def test_a_tool_that_fails_says_so_itself(self, servers: ToolServers, polite: str) -> None:
        result = servers.call(polite, "fail", {})
        assert (result.is_error, said(result)) == (True, "no such peak")

    def test_images_and_sounds_are_documents_beside_text(self, servers: ToolServers, polite: str) -> None:
        image, sound = Base64Source("image/png", PIXEL), Base64Source("audio/wav", "UklGRg==")
        result = servers.call(polite, "picture", {})
        assert result.content == (Text("a dot:"), Document(image), Document(sound))

    def test_resources_are_text_or_documents_and_links_are_text(self, servers: ToolServers, polite: str) -> None:
        assert servers.call(polite, "files", {}).content == (
            Text("remember"),
            Document(Base64Source("application/pdf", "JVBERi0="), "my paper.pdf"),
            Document(Base64Source("application/octet-stream", "AAEC")),
            Text("the map: https://example.org/map"),
        )

    def test_structured_content_is_text_where_there_is_no_other(self, servers: ToolServers, polite: str) -> None:
        assert said(servers.call(polite, "structured", {})) == '{"height":8849,"of":"Everest"}'

    def test_no_content_is_an_empty_result(self, servers: ToolServers) -> None:
        assert servers.call("rude", "nothing", {}) == ToolResult(None, "rude___nothing")

    def test_a_large_result_arrives_whole(self, servers: ToolServers, polite: str) -> None:
        assert len(said(servers.call(polite, "large", {}))) == LARGE_BYTES

    def test_a_result_over_the_limit_becomes_an_error_that_says_so(self, servers: ToolServers, polite: str) -> None:
        assert f"the limit is {RESULT_LIMIT_BYTES:,}" in reason(servers.call(polite, "huge", {}))

    def test_an_answer_over_http_is_read_up_to_a_limit(
        self, servers: ToolServers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from headish.tools.servers import transports

        monkeypatch.setattr(transports, "ANSWER_LIMIT_BYTES", 100_000)
        assert "exceeded the 100000 byte limit" in reason(servers.call("far", "large", {}))
        assert said(servers.call("far", "add", {"a": 1, "b": 1})) == "2"

    def test_a_document_that_is_no_base64_is_an_error(self, servers: ToolServers, polite: str) -> None:
        assert "data is not base64" in reason(servers.call(polite, "no___base64", {}))

    def test_a_tool_that_raises_is_an_error(self, servers: ToolServers, polite: str) -> None:
        assert reason(servers.call(polite, "crash", {})).startswith(f"the tool server {polite!r} failed: ")

    @pytest.mark.parametrize(
        ("tool", "expected"),
        [
            ("wrong", r"its answer breaks the protocol: Input should be a valid list (at content)"),
            ("unknown", r"its answer breaks the protocol: "),
            ("endless", r"nan is not a JSON number (at $.height)"),
        ],
    )
    def test_an_answer_against_the_protocol_is_an_error(self, servers: ToolServers, tool: str, expected: str) -> None:
        assert expected in reason(servers.call("rude", tool, {}))

    def test_lines_that_are_no_json_and_bytes_that_are_no_text_stop_nothing(self, servers: ToolServers) -> None:
        assert said(servers.call("rude", "chatter", {})) == "said after all"
        assert said(servers.call("rude", "bytes", {})) == "\N{REPLACEMENT CHARACTER}"


class TestCallsTogether:
    def test_results_are_in_the_order_of_the_calls(self, servers: ToolServers) -> None:
        calls = [ToolUse(f"{POLITE[i % 3]}___add", str(i), {"a": i, "b": 1}) for i in range(12)]
        results = servers.call_all(calls)
        assert [(result.tool_use_id, result.name, said(result)) for result in results] == [
            (str(i), f"{POLITE[i % 3]}___add", str(i + 1)) for i in range(12)
        ]

    def test_calls_run_at_the_same_time(self, servers: ToolServers, polite: str) -> None:
        assert [said(result) for result in servers.call_all([ToolUse(f"{polite}___meet", None, {})] * 2)] == ["met"] * 2

    def test_threads_call_at_the_same_time(self, servers: ToolServers) -> None:
        answers: list[str] = []
        threads = [Thread(target=lambda: answers.append(said(servers.call("calc", "meet", {})))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert answers == ["met", "met"]

    def test_a_name_is_split_at_the_first_separator(self, servers: ToolServers) -> None:
        [result] = servers.call_all([ToolUse("calc___no___base64", "c1", {})])
        assert "data is not base64" in reason(result)

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (ToolUse("nobody___add", "c1", {}), "there is no tool server 'nobody'"),
            (ToolUse("add", "c1", {}), "it names no server and tool, as SERVER___TOOL does"),
            (ToolUse("calc___subtract", "c1", {}), "the tool server 'calc' has no tool 'subtract'"),
            (ToolUse("calc___", "c1", {}), "it names no server and tool, as SERVER___TOOL does"),
            (ToolUse("calc___add", "c1", raw='{"a": 1'), "its arguments are not a JSON object"),
            (ToolUse("calc___add", "c1", [1, 2]), "its arguments are not a JSON object"),
            (ToolUse("calc___add", "c1", {"a": float("nan")}), "nan is not a JSON number (at $.a)"),
        ],
    )
    def test_a_call_that_cannot_be_run_costs_no_other(self, servers: ToolServers, call: ToolUse, expected: str) -> None:
        refused, ran = servers.call_all([call, ToolUse("calc___add", "c2", {"a": 1, "b": 2})])
        assert expected in reason(refused)
        assert (refused.tool_use_id, refused.name) == ("c1", call.name)
        assert said(ran) == "3"


class TestServersThatFail:
    def test_a_call_that_hangs_or_kills_its_server_costs_no_call_of_another(self) -> None:
        with ToolServers({"calc": CALC, "doomed": CALC}, call_seconds=1) as servers:
            hung, killed, ran = servers.call_all([
                ToolUse("calc___hang", "c1", {}), ToolUse("doomed___leave", "c2", {}),
                ToolUse("calc___add", "c3", {"a": 1, "b": 2}),
            ])  # fmt: skip
            assert reason(hung) == "the tool server 'calc' failed: it did not answer within 1 seconds"
            assert reason(killed) == "the tool server 'doomed' failed: Connection closed"
            assert said(ran) == "3"
            assert said(servers.call("calc", "add", {"a": 1, "b": 1})) == "2"
            assert reason(servers.call("doomed", "add", {"a": 1, "b": 1})).startswith("the tool server 'doomed' failed")

    @pytest.mark.parametrize("flags", [(), ("--old",)])
    def test_an_http_server_that_dies_is_an_error_now_and_later(self, flags: tuple[str, ...]) -> None:
        with http_server(*flags) as serving, ToolServers({"far": HttpServer(serving.url, KEY)}) as servers:
            for tool in ("leave", "add"):
                assert reason(servers.call("far", tool, {})).startswith("the tool server 'far' failed: ")

    @pytest.mark.parametrize(
        ("server", "expected"),
        [
            (StdioServer("no-such-program-anywhere"), "No such file or directory: 'no-such-program-anywhere'"),
            (StdioServer(sys.executable, ("-c", "")), "Connection closed"),
            (HttpServer("http://127.0.0.1:1/mcp"), "connection attempts failed"),
        ],
    )
    def test_a_server_that_does_not_start_is_named(self, server: ServerConfig, expected: str) -> None:
        with pytest.raises(ServerFailed) as raised, ToolServers({"broken": server}):
            pass
        assert raised.value.name == "broken"
        assert expected in str(raised.value)

    def test_a_server_that_never_answers_does_not_start(self) -> None:
        silent = StdioServer(sys.executable, ("-c", "import sys; sys.stdin.read()"))
        with pytest.raises(ServerFailed, match=r"it did not start within 0\.2 seconds"):
            ToolServers({"silent": silent}, start_seconds=0.2).__enter__()

    def test_a_key_that_is_refused_is_told_by_the_status(self, far: str) -> None:
        wrong = HttpServer(far, {"Authorization": "Bearer wrong"})
        with pytest.raises(ServerFailed, match="HTTP 401 Unauthorized"), ToolServers({"far": wrong}):
            pass

    def test_one_that_does_not_start_stops_those_that_did(self, tmp_path: Path) -> None:
        started = tmp_path / "pid"
        configs = {"good": rude(started), "bad": StdioServer(sys.executable, ("-c", UNTIL_WRITTEN, str(started)))}
        with pytest.raises(ServerFailed, match="'bad'"), ToolServers(configs):
            pass
        assert not is_alive(int(started.read_text()))


class TestTheEnd:
    def test_no_process_is_left(self, tmp_path: Path) -> None:
        started = tmp_path / "pid"
        with ToolServers({"rude": rude(started)}):
            pid = int(started.read_text())
            assert is_alive(pid)
        assert not is_alive(pid)

    def test_no_process_is_left_where_the_block_raises(self, tmp_path: Path) -> None:
        started = tmp_path / "pid"
        with pytest.raises(KeyboardInterrupt), ToolServers({"rude": rude(started)}):
            raise KeyboardInterrupt
        assert not is_alive(int(started.read_text()))

    def test_ctrl_c_cancels_the_call_at_once_and_the_end_stops_the_servers(self) -> None:
        command = [sys.executable, "-c", INTERRUPTED, SCRIPT]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            # A pipe that nobody writes into is waited for without end.
            limit = Timer(60, process.kill)
            limit.start()
            try:
                pid = int(process.stdout.readline())
                assert "hanging\n" in iter(process.stderr.readline, "")
                process.send_signal(signal.SIGINT)
                assert "let go\n" in iter(process.stderr.readline, "")
                assert is_alive(pid)
                process.stdin.write("go on\n")
                process.stdin.flush()
                assert process.stdout.read() == "interrupted\n2\nstopped\n"
            finally:
                limit.cancel()
                process.kill()
        assert not is_alive(pid)

    def test_a_call_that_had_begun_when_the_interrupt_came_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody has been told yet that it runs."""
        told = tmp_path / "told"

        def wait_for(line: str) -> None:
            end = time.monotonic() + 30
            while line not in told.read_text():
                assert time.monotonic() < end, f"no {line!r}"
                time.sleep(0.01)

        polite = {"calc": StdioServer(sys.executable, (SCRIPT,))}
        with told.open("w") as errlog, ToolServers(polite, errlog=errlog) as servers:
            portal = servers._now.portal
            start = portal.start_task_soon

            def start_struck(*given: Any) -> None:
                start(*given)
                wait_for("hanging")
                monkeypatch.undo()
                raise KeyboardInterrupt

            monkeypatch.setattr(portal, "start_task_soon", start_struck)
            with pytest.raises(KeyboardInterrupt):
                servers.call("calc", "hang", {})
            wait_for("let go")
            assert servers.call("calc", "add", {"a": 1, "b": 1}).content == (Text("2"),)

    def test_a_session_over_http_is_ended(self) -> None:
        with http_server("--old") as serving:
            with ToolServers({"old": HttpServer(serving.url, KEY)}):
                pass
            serving.process.kill()
            assert serving.process.communicate()[0] == b"DELETE\n"

    def test_tools_are_asked_for_inside_the_block_only(self) -> None:
        servers = ToolServers({})
        with pytest.raises(InvalidArgument, match="inside their with block"):
            servers.tools()
        with servers:
            assert servers.tools() == {}
            with pytest.raises(InvalidArgument, match="running already"):
                servers.__enter__()
        with pytest.raises(InvalidArgument, match="inside their with block"):
            servers.call_all([])


class TestPrograms:
    def test_a_program_gets_its_own_variables_and_folder_and_not_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET", "ours")
        program = StdioServer(sys.executable, (SCRIPT,), {"OPEN": "theirs"}, str(tmp_path))
        with ToolServers({"calc": program}) as servers:
            told = servers.call("calc", "place", {})
        assert told.content == (Text("SECRET is not set"), Text("OPEN is theirs"), Text(str(tmp_path)))

    def test_its_stderr_goes_to_a_file_that_is_given(self, tmp_path: Path) -> None:
        with open(tmp_path / "log", "w") as log, ToolServers({"rude": RUDE}, errlog=log):
            pass
        assert (tmp_path / "log").read_text() == "what do you want?\n"


def test_a_name_that_could_not_be_told_from_a_tools_is_refused() -> None:
    with pytest.raises(InvalidName, match="the tool's"):
        ToolServers({"a___b": CALC})


def test_the_package_mcp_is_imported_when_servers_start_and_its_absence_is_told() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_MCP], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("tool servers need the extra: pip install 'headish[mcp]'\n", "")


UNTIL_WRITTEN = """
import os, sys, time
while not (os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1])):
    time.sleep(0.01)
"""
INTERRUPTED = """
import signal, sys
from headish.tools.servers import StdioServer, ToolServers
# A shell that runs this in the background has it ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with ToolServers({"calc": StdioServer(sys.executable, (sys.argv[1],))}) as servers:
        print(servers.call("calc", "pid", {}).content[0].text, flush=True)
        try:
            servers.call("calc", "hang", {})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.stdin.readline()
            print(servers.call("calc", "add", {"a": 1, "b": 1}).content[0].text, flush=True)
            raise
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
WITHOUT_MCP = """
import sys
from headish.tools.servers import ToolServers
from headish.errors import InvalidArgument
assert not {"mcp", "anyio", "httpx2", "pydantic"} & set(sys.modules)
sys.modules["mcp"] = None
try:
    ToolServers({}).__enter__()
except InvalidArgument as error:
    print(error)
"""
