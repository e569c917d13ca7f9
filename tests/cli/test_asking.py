"""Asking at the command: what is printed where, how it ends, and who decides what runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from headish import Store
from headish.store.asking.tool_calls import REFUSED
from support import mcp_server
from support.capturers import wait_until
from support.command import HEADISH, Command, at_terminal
from support.growing import texts
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_call, anthropic_calls, anthropic_message, anthropic_text

KEY = "sk-very-secret-key-of-the-test"
HELLO = anthropic_text("Hel", "lo.")
ESCAPES = "a\x1b]0;evil\x07b\x9b31mc\rd\u202ee"
"""What a model may say to a terminal: a title, a colour, a line over another one, letters in another order."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-the-usual-one-of-the-provider")


@pytest.fixture
def server(headish: Command) -> Iterator[Loopback]:
    """A provider on loopback, which the pointer ``milli`` of the command's store points at."""
    with Loopback() as server:
        headish("ptr", "set", "milli", "anthropic/small", "--base-url", server.url, "--key-env", "TEST_KEY")
        yield server


def say_hello(server: Loopback, times: int = 1) -> None:
    for _ in range(times):
        server.answer(chunks=event_stream(HELLO))


class TestAsk:
    def test_the_answer_is_on_stdout_and_what_became_of_it_on_stderr(self, headish: Command, server: Loopback) -> None:
        say_hello(server)
        done = headish("ask", "Hi", "-b", "main", "-p", "milli")
        turn = headish("get", "main", "--json").json
        assert done.out == "Hello.\n"
        assert done.err == f"turn {turn['id']} on main\n"
        assert turn["meta"]["reply"]["usage"] == {
            "input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 2,
        }  # fmt: skip

    def test_a_thread_goes_on_by_its_name_and_from_standard_input(self, headish: Command, server: Loopback) -> None:
        say_hello(server, 2)
        headish("ask", "Hi", "-b", "main", "-p", "milli")
        headish("ask", "-", "-c", "main", stdin="And\nyou?")
        sent = [message["content"][0]["text"] for message in server.requests[1].body["messages"]]
        assert sent == ["Hi", "Hello.", "And\nyou?"]

    def test_without_text_the_thread_is_asked_from_as_it_stands(self, headish: Command, server: Loopback) -> None:
        say_hello(server)
        headish("add", "Hi", "-b", "main", "-p", "milli")
        headish("ask", "-c", "main")
        assert headish("log", "main", "--json").out.count("\n") == 2

    def test_what_is_piped_in_stands_below_the_text(self, headish: Command, server: Loopback) -> None:
        say_hello(server, 3)
        headish("ask", "Sum these.", "-b", "main", "-p", "milli", stdin="1\n2\n")
        headish("ask", "-c", "main", stdin="And these: 3")
        headish("ask", "-c", "main", stdin="")
        sent = [message["content"][0]["text"] for message in server.requests[2].body["messages"]]
        assert sent == ["Sum these.\n\n1\n2\n", "Hello.", "And these: 3", "Hello."]

    def test_a_branch_without_a_name_is_told_by_its_id(self, headish: Command, server: Loopback) -> None:
        say_hello(server)
        done = headish("ask", "Hi", "-p", "milli")
        assert done.err == f"turn {headish('get', '--json').json['id']}\n"

    def test_as_json_the_turn_alone_is_on_stdout(self, headish: Command, server: Loopback) -> None:
        say_hello(server)
        done = headish("ask", "Hi", "-b", "main", "-p", "milli", "--json")
        assert done.json["id"] == headish("get", "main", "--json").json["id"]
        assert done.json["reply"] == headish("get", "main", "--json").json["reply"]
        assert done.json["reply"]["message"]["content"] == [{"type": "text", "text": "Hello."}]
        assert done.out.count("\n") == 1

    def test_whole_answers_and_another_model_can_be_asked_for(self, headish: Command, server: Loopback) -> None:
        server.answer_json(anthropic_message({"type": "text", "text": "Hello."}))
        done = headish("ask", "Hi", "-p", "milli", "--no-stream", "--model", "large", "--timeout", "5")
        assert done.out == "Hello.\n"
        assert (server.requests[0].body["stream"], server.requests[0].body["model"]) == (False, "large")

    def test_each_time_has_a_limit_of_its_own_at_the_pointer_and_at_the_call(
        self, headish: Command, server: Loopback
    ) -> None:
        def quiet() -> Iterator[bytes]:
            yield from event_stream(HELLO[:3])
            server.closing.wait(20)

        words = ["--base-url", server.url, "--key-env", "TEST_KEY"]
        words += ["--timeout", "first-byte=60", "--timeout", "silence=0.2"]
        headish("ptr", "set", "milli", "anthropic/small", *words)
        assert headish("ptr", "list", "--json").json["timeouts"] == {"first_byte": 60, "silence": 0.2}
        assert "first-byte in 60 s  silence in 0.2 s" in headish("ptr", "list").out
        server.answer(chunks=quiet())
        done = headish.run("ask", "Hi", "-p", "milli")
        assert (done.code, done.out) == (1, "Hel\n")
        assert "no further byte of the answer came within 0.2 s" in done.err
        server.answer(chunks=quiet())
        late = ("--timeout", "silence=60", "--timeout", "total=0.3")
        assert "the answer did not end within 0.3 s" in headish.run("ask", "Hi", "-p", "milli", *late).err
        assert "connect, first-byte, silence, total" in headish.misused("ask", "Hi", "--timeout", "read=3")

    def test_a_server_of_ones_own_needs_neither_pointer_nor_key(self, headish: Command, server: Loopback) -> None:
        server.answer_json({"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]})
        done = headish("ask", "Hi", "--to", "openai", "--base-url", f"{server.url}/v1", "--model", "local")
        assert done.out == "Hello.\n"
        [request] = server.requests
        assert request.path == "/v1/chat/completions"
        assert "authorization" not in request.headers

    def test_an_answer_that_ends_its_line_gets_no_other_end(self, headish: Command, server: Loopback) -> None:
        server.answer(chunks=event_stream(anthropic_text("Hel", "lo.\n")))
        assert headish("ask", "Hi", "-p", "milli").out == "Hello.\n"

    def test_calls_are_printed_and_left_open(self, headish: Command, server: Loopback) -> None:
        server.answer(chunks=event_stream(anthropic_call("read", {"path": "a"}, text="Let me look.")))
        done = headish("ask", "Read a", "-p", "milli")
        assert done.out == "Let me look.\n"
        assert done.err.startswith('[read]\nopen call: read {"path":"a"}\nturn ')

    def test_waits_are_told(self, headish: Command, server: Loopback) -> None:
        server.answer_json({"error": {"message": "slow down"}}, 429, {"retry-after-ms": "1"})
        say_hello(server)
        done = headish("ask", "Hi", "-p", "milli")
        assert "status 429: slow down (it asks to wait 0.001 s); attempt 2 in 0.0 s\n" in done.err


class TestHowItEnds:
    def test_an_incomplete_answer_is_code_1_and_says_how_to_ask_again(self, headish: Command, server: Loopback) -> None:
        server.answer(chunks=event_stream(HELLO[:3]), cut=True)
        done = headish.run("ask", "Hi", "-b", "main", "-p", "milli")
        turn = headish("get", "main", "--json").json["id"]
        assert (done.code, done.out) == (1, "Hel\n")
        assert "anthropic: the answer broke off" in done.err
        assert f"The answer is incomplete: 'headish retry {turn}' asks again." in done.err
        say_hello(server)
        again = headish("retry", turn)
        assert (again.out, again.err) == ("Hello.\n", f"turn {headish('get', 'main', '--json').json['id']} on main\n")

    def test_a_refusal_is_one_line_and_code_1(self, headish: Command, server: Loopback) -> None:
        server.answer_json({"error": {"message": f"unknown key {KEY}"}}, 401)
        assert headish.fails("ask", "Hi", "-b", "main", "-p", "milli") == (
            "anthropic: status 401: unknown key ***; what you said is kept, and 'headish ask -c main' asks again"
        )
        say_hello(server)
        headish("ask", "-c", "main")

    def test_the_advice_to_ask_again_names_whom_to_ask(self, headish: Command, server: Loopback) -> None:
        server.answer_json({"error": {"message": "no"}}, 400)
        asked = ("--to", "anthropic", "--model", "large", "--base-url", server.url, "--key-env", "TEST_KEY")
        told = headish.fails("ask", "Hi", "-b", "main", *asked)
        advice = f"ask -c main {' '.join(asked)}"
        assert told.endswith(f"what you said is kept, and 'headish {advice}' asks again")
        say_hello(server)
        assert headish(*advice.split()).out == "Hello.\n"

    def test_the_advice_to_retry_names_whom_to_ask(self, headish: Command, server: Loopback) -> None:
        server.answer(chunks=event_stream(HELLO[:3]), cut=True)
        asked = ("--to", "anthropic", "--model", "large", "--base-url", server.url)
        told = headish.run("ask", "Hi", "-b", "main", *asked).err
        advice = f"retry {headish('get', 'main', '--json').json['id']} {' '.join(asked)}"
        assert f"'headish {advice}' asks again." in told
        say_hello(server)
        assert headish(*advice.split()).out == "Hello.\n"

    def test_that_it_is_kept_is_said_of_any_refusal(self, headish: Command, server: Loopback) -> None:
        headish("add", "Hi", "-b", "main", "-p", "milli", "--server", "gone")
        told = headish.fails("ask", "Are you there?", "-c", "main")
        assert "no tools are stored for the server 'gone'" in told
        assert told.endswith("; what you said is kept, and 'headish ask -c main' asks again")

    def test_an_answer_that_reached_its_limit_says_so(self, headish: Command, server: Loopback) -> None:
        server.answer_json(anthropic_message({"type": "text", "text": "Hel"}, stop_reason="max_tokens"))
        assert "The answer ends at a limit of tokens" in headish("ask", "Hi", "-p", "milli", "--no-stream").err

    def test_that_the_bookmark_moved_on_meanwhile_is_told(self, headish: Command, server: Loopback) -> None:
        headish("add", "Hi", "-b", "main", "-p", "milli")

        def while_somebody_continues() -> Iterator[bytes]:
            first, *rest = event_stream(HELLO)
            yield first
            with Store.open(headish.target) as store:
                store.add_turn("Quicker.", continues="main")
            yield from rest

        server.answer(chunks=while_somebody_continues())
        done = headish("ask", "-c", "main")
        assert "No bookmark moved" in done.err
        assert headish("get", "main").out.strip() == "Quicker."

    def test_an_empty_text_is_not_said(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main")
        assert "the text is empty" in headish.misused("ask", "", "-c", "main")
        assert headish("stats", "--json").json["turns"] == 1

    def test_nobody_to_ask_is_told_before_anything_is_stored(self, headish: Command, server: Loopback) -> None:
        assert "no provider is named" in headish.fails("ask", "Hi")
        assert "no provider pointer is named 'gone'" in headish.fails("ask", "Hi", "-p", "gone")
        assert "unknown provider 'nobody'" in headish.refuses("ask", "Hi", "--to", "nobody")
        assert "not a number of seconds" in headish.misused("ask", "Hi", "-p", "milli", "--timeout", "1e300")
        assert headish("stats", "--json").json["turns"] == 0

    def test_wrong_usage_is_code_2(self, headish: Command, server: Loopback) -> None:
        assert "--tool-loop needs the servers" in headish.misused("ask", "Hi", "-p", "milli", "--tool-loop")
        assert "--timeout" in headish.misused("ask", "Hi", "-p", "milli", "--timeout", "0")
        assert "there is nothing to store" in headish.misused("ask", stdin="")

    def test_what_is_no_answer_cannot_be_asked_again(self, headish: Command, server: Loopback) -> None:
        headish("add", "Hi", "-b", "main", "-p", "milli")
        assert "only an answer can be asked for again" in headish.fails("retry", "main")

    def test_without_a_pointer_who_answered_before_is_asked_again(self, headish: Command, server: Loopback) -> None:
        say_hello(server, 2)
        headish("ask", "Hi", "-b", "main", "--to", "anthropic", "--base-url", server.url)
        assert headish("retry", "main", "--base-url", server.url).out == "Hello.\n"
        assert server.requests[1].body["model"] == "small-1"

    def test_a_key_is_never_printed(self, headish: Command, server: Loopback) -> None:
        for key_env in (KEY, "keyring:", "TEST KEY"):
            told = headish.fails("ask", "Hi", "-p", "milli", "--key-env", key_env)
            assert "this is neither" in told
            assert "secret" not in told
        say_hello(server)
        shown = [
            headish("ask", "Hi", "-p", "milli", "--json"),
            headish("ptr", "list"),
            headish("ptr", "list", "--json"),
        ]
        shown += [headish("log", "--json"), headish("request", "--to", "anthropic", "--explain")]
        assert not [done for done in shown if "sk-" in done.out + done.err]
        assert KEY.encode() not in Path(headish.target).read_bytes()


class TestClouds:
    def test_a_pointer_to_a_cloud_says_where_its_requests_go(self, headish: Command) -> None:
        cloud = ("--cloud", "vertex", "--region", "eu", "--project", "p")
        headish("ptr", "set", "v", "gemini/g", *cloud, "--header", "X-Team=a=b", "--param", "temperature=0")
        shown = headish("ptr", "show", "v").out.splitlines()
        assert shown == [
            "model    gemini/g",
            "cloud    Vertex AI (eu, p)",
            "url      https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google/models/"
            "g:streamGenerateContent?alt=sse",
            "header   x-team: a=b",
            "param    temperature=0",
        ]
        record = headish("ptr", "show", "v", "--json").json
        assert record["cloud"] == {"name": "vertex", "region": "eu", "project": "p"}
        assert "on Vertex AI (eu, p)" in headish("ptr", "list").out

    def test_a_header_with_a_key_is_refused_and_not_repeated(self, headish: Command) -> None:
        key = "sk-0123456789abcdefghij"
        for header in (f"x-api-key={key}", f"x-team={key}", f"x-team=a\r\nx-api-key: {key}"):
            told = headish.fails("ptr", "set", "v", "openai/m", "--header", header)
            assert "header" in told
            assert key not in told


class TestWhatAModelSaysToATerminal:
    def check(self, *shown: str) -> None:
        for text in shown:
            assert all(each.isprintable() or each in "\n\t" for each in text), ascii(text)

    def test_its_text_and_its_calls_move_nothing(self, headish: Command, server: Loopback) -> None:
        events = anthropic_calls((ESCAPES, {ESCAPES: ESCAPES}, "c1"), text=ESCAPES, model=ESCAPES)
        server.answer(chunks=event_stream([*events[:-1], {"type": ESCAPES}, events[-1]]))
        done = headish("ask", "Hi", "-b", "main", "-p", "milli")
        assert done.out == f"{ESCAPES}\n", "a pipe gets the true text"
        self.check(done.err)
        server.answer(chunks=event_stream(anthropic_text(ESCAPES)))
        self.check(at_terminal("--db", headish.target, "ask", "Hi", "-p", "milli", env={"NO_COLOR": "1"}))
        assert "note: an event of type" in done.err
        for words in (("log",), ("usage", "--by", "model"), ("lint", "main"), ("request", "main", "--explain")):
            done = headish.run(*words)
            self.check(done.err, *([] if words[0] == "request" else [done.out]))

    def test_nor_do_its_errors(self, headish: Command, server: Loopback) -> None:
        server.answer(chunks=event_stream([*HELLO[:3], {"type": "error", "error": {"message": ESCAPES}}]))
        self.check(headish.run("ask", "Hi", "-p", "milli").err)
        server.answer_json({"error": {"message": ESCAPES}}, 400)
        self.check(headish.fails("ask", "Hi", "-p", "milli"))
        server.answer(headers={"content-type": "text/html"}, chunks=[ESCAPES.encode()])
        self.check(headish.fails("ask", "Hi", "-p", "milli"))


@pytest.fixture
def loop(tmp_path: Path) -> Sequence[str]:
    """The options of a tool loop with one real server."""
    path = tmp_path / "servers.json"
    config = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    path.write_text(json.dumps({"mcpServers": {"calc": config}}))
    return ("--tool-loop", "--mcp-config", str(path))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals and terminals as POSIX has them; run this on a POSIX system")
class TestAtATerminal:
    def start(self, headish: Command, *words: str, stdin: int) -> subprocess.Popen[bytes]:
        command = [HEADISH, "--db", headish.target, *words]
        return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_ctrl_c_keeps_what_arrived(self, headish: Command, server: Loopback) -> None:
        def fall_silent() -> Iterator[bytes]:
            yield from event_stream(HELLO[:3])
            server.closing.wait(30)

        server.answer(chunks=fall_silent())
        words = ("ask", "Hi", "-b", "main", "-p", "milli")
        with self.start(headish, *words, stdin=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            assert process.stdout.read(3) == b"Hel"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (130, b"\n")
        assert b"Stopped; what arrived is kept.\n" in err
        assert b"Traceback" not in err
        with Store.open(headish.target) as store:
            assert texts(store, "main") == ["Hi", "Hel"]
            assert store.get("main").meta.reply["incomplete"]
            assert (store.recovered, store.streams.list()) == ((), [])

    def test_ctrl_c_before_anything_came_leaves_the_question(self, headish: Command, server: Loopback) -> None:
        def fall_silent() -> Iterator[bytes]:
            server.closing.wait(30)
            yield b""

        server.answer_raw(fall_silent())
        with self.start(headish, "ask", "Hi", "-b", "main", "-p", "milli", stdin=subprocess.DEVNULL) as process:
            wait_until(lambda: server.requests, "the provider is asked")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (130, b"")
        assert err == b"\nheadish: stopped; what you said is kept, and 'headish ask -c main' asks again\n"
        with Store.open(headish.target) as store:
            assert (texts(store, "main"), store.streams.list()) == (["Hi"], [])

    def test_each_call_is_asked_for(self, headish: Command, server: Loopback, loop: Sequence[str]) -> None:
        calls = [("calc___add", {"a": 2, "b": number}, f"c{number}") for number in (1, 2)]
        server.answer(chunks=event_stream(anthropic_calls(*calls)))
        say_hello(server)
        ours, theirs = os.openpty()
        try:
            os.write(ours, b"y\nn\n")
            with self.start(headish, "ask", "Hi", "-p", "milli", *loop, stdin=theirs) as process:
                out, err = process.communicate(timeout=60)
        finally:
            os.close(ours)
            os.close(theirs)
        assert (process.returncode, out.strip()) == (0, b"Hello."), err
        assert b'run calc___add {"a":2,"b":1}? [y/N]: ' in err
        added, refused = server.requests[1].body["messages"][-1]["content"]
        assert (added["content"][0]["text"], "is_error" in added) == ("3", False)
        assert (refused["content"][0]["text"], refused["is_error"]) == (REFUSED, True)
