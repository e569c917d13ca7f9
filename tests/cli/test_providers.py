"""Pointers, tools, requests, replies and usage at the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from support.capturers import begin
from support.command import Command
from support.insides import run_sql
from support.loopback import event_stream
from support.providers.answers import anthropic_call, anthropic_message, anthropic_text

TOOLS = {
    "tools": [{"name": "read", "description": "Read a\nfile"}, {"name": "write", "inputSchema": {"type": "object"}}]
}
HELLO = json.dumps(anthropic_message({"type": "text", "text": "Hello."}))


@pytest.fixture
def tools(tmp_path: Path) -> str:
    """A file as MCP's tools/list answers."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return str(path)


class TestPointers:
    def test_they_are_set_listed_and_removed_and_keep_their_history(self, headish: Command) -> None:
        assert headish("ptr", "set", "milli", "anthropic/small").err == "milli points at anthropic/small.\n"
        words = ("--param", "max_tokens=5", "--param", 'thinking.type="off"', "--base-url", "http://127.0.0.1:1/v1/")
        headish("ptr", "set", "milli", "openai/a/b", *words, "--key-env", "MY_KEY")
        headish("ptr", "set", "kilo", "gemini/large")
        assert headish("ptr", "list").out.splitlines() == [
            "kilo   gemini/large",
            'milli  openai/a/b  max_tokens=5  thinking={"type":"off"}  at http://127.0.0.1:1/v1  key in MY_KEY',
        ]
        assert headish("ptr", "rm", "milli").err == "milli points at nothing now.\n"
        assert headish("ptr", "list").out == "kilo  gemini/large\n"
        said = [line.partition("  ")[2] for line in headish("ptr", "history", "milli").out.splitlines()]
        assert said[0] == "milli  removed"
        assert [line.split("  ")[1] for line in said] == ["removed", "openai/a/b", "anthropic/small"]

    def test_as_json_they_are_objects(self, headish: Command) -> None:
        made = headish("ptr", "set", "milli", "openai/m", "--param", "effort=null", "--json").json
        assert made == {"name": "milli", "provider": "openai", "model": "m", "params": {"effort": None}}
        [listed] = headish("ptr", "list", "--json").json_lines
        assert listed.pop("time").endswith("+00:00")
        assert listed == made | {"spoken": {"name": "openai", "why": "it is the provider's own server"}}
        headish("ptr", "rm", "milli")
        assert [set(each) for each in headish("ptr", "history", "milli", "--json").json_lines] == [
            {"name", "time"}, {"name", "time", "provider", "model", "params", "spoken"},
        ]  # fmt: skip

    def test_what_cannot_be_one_is_told_in_a_line(self, headish: Command) -> None:
        headish("ptr", "set", "milli", "openai/m")
        assert "is not PROVIDER/MODEL with one of anthropic" in headish.fails("ptr", "set", "x", "nobody/m")
        assert "no provider pointer is named 'x'" in headish.fails("ptr", "rm", "x")
        assert "no provider pointer is named 'x'" in headish.fails("ptr", "history", "x")
        assert "cannot be the name of a provider pointer" in headish.refuses("ptr", "set", "a b", "openai/m")
        assert "'x' is not KEY=JSON" in headish.misused("ptr", "set", "x", "openai/m", "--param", "x")
        assert "is not JSON" in headish.fails("ptr", "set", "x", "openai/m", "--param", "x=y")

    def test_a_key_is_refused_and_not_repeated(self, headish: Command) -> None:
        key = "sk-0123456789abcdefghij"
        for words in (
            ("--key-env", key),
            ("--key-env", "AIzaSyA1234567890123456789012345678901"),
            ("--param", f'user="{key}"'),
            ("--param", 'headers.authorization="x"'),
            ("--base-url", f"https://me:{key}@127.0.0.1"),
            ("--base-url", f"https://127.0.0.1/?key={key}"),
            ("--base-url", f"https://127.0.0.1/{key}"),
        ):
            told = headish.fails("ptr", "set", "milli", "openai/m", *words)
            assert not [part for part in (key, key[:8], "AIza") if part in told], told
        assert headish("ptr", "list").out == ""


class TestTools:
    def test_they_are_stored_listed_and_forgotten(self, headish: Command, tools: str) -> None:
        assert headish("tools", "set", "files", tools).err == "2 tools of files.\n"
        headish("tools", "set", "web", "-", stdin='[{"name": "search"}]')
        assert headish("tools", "list").out == (
            "files___read   Read a file\nfiles___write\nweb___search\n"
        )  # fmt: skip
        assert headish("tools", "get", "files").json == TOOLS["tools"]
        assert [tool["name"] for tool in headish("tools", "list", "web", "--json").json_lines] == ["web___search"]
        headish("tools", "rm", "web")
        assert "no tools are stored for the server 'web'" in headish.fails("tools", "list", "web")

    def test_a_server_without_tools_is_told_from_one_that_is_not_stored(self, headish: Command, tools: str) -> None:
        headish("tools", "set", "empty", "-", stdin='{"tools": []}')
        for words in ((), ("empty",)):
            done = headish("tools", "list", *words)
            assert (done.out, done.err) == ("", "The server empty is known and offers no tools.\n"), words
        headish("tools", "set", "files", tools)
        done = headish("tools", "list")
        assert (done.out.count("files___"), done.err) == (2, "The server empty is known and offers no tools.\n")
        assert headish("tools", "list", "--json").err == ""

    def test_what_is_no_list_of_tools_is_told_in_a_line(self, headish: Command, tmp_path: Path) -> None:
        assert "cannot be read" in headish.fails("tools", "set", "files", str(tmp_path / "none.json"))
        for text in ("{", "3", "[1]", '[{"title": "x"}]', '[{"name": "a"}, {"name": "a"}]', '{"tools": "x"}', "\ud800"):
            headish.fails("tools", "set", "files", "-", stdin=text.encode(errors="surrogatepass"))
        assert "names are split at the first one" in headish.refuses("tools", "set", "a___b", "-", stdin="[]")

    def test_a_request_of_a_thread_that_names_the_server_has_them(self, headish: Command, tools: str) -> None:
        headish("tools", "set", "files", tools)
        headish("add", "Hi", "-b", "main", "--server", "files")
        body = headish("request", "main", "--to", "openai").json
        assert [tool["function"]["name"] for tool in body["tools"]] == ["files___read", "files___write"]


@pytest.fixture
def thread(headish: Command) -> list[str]:
    """The ids of a thread on ``main``: a system text, a question, an answer with a call that nobody answered."""
    headish("ptr", "set", "milli", "anthropic/small", "--param", "max_tokens=5")
    system = headish.id("add", "Be brief.", "--role", "system", "-b", "main", "-p", "milli")
    question = headish.id("add", "Hi", "-c", "main", "--set", "params.max_tokens=7")
    answer = b"".join(event_stream(anthropic_call("f", {})))
    return [system, question, headish("reply", "main", "--from", "anthropic", stdin=answer).out.strip()]


class TestRequests:
    def test_the_body_is_on_stdout_and_the_notes_on_stderr(self, headish: Command, thread: list[str]) -> None:
        done = headish("request", "main")
        assert (done.json["model"], done.json["max_tokens"], done.json["stream"]) == ("small", 7, True)
        assert done.out.count("\n") > 10
        assert "note: " in done.err
        plain = headish("request", "main", "--no-stream", "--model", "large", "--json")
        assert (plain.json["stream"], plain.json["model"], plain.out.count("\n")) == (False, "large", 1)

    def test_explained_it_names_the_turns_of_each_part(self, headish: Command, thread: list[str]) -> None:
        system, question, call = thread
        said = headish("request", "main", "--explain").err.splitlines()
        assert f"system[0] is from {system}" in said
        assert f"messages[0] is from {question}" in said
        assert f"messages[1] is from {call}" in said
        assert f"option params.max_tokens is set by {question}" in said
        assert f"option provider_ptr is set by {system}" in said
        assert "the pointer milli says anthropic/small" in said

    def test_several_are_asked_from_together(self, headish: Command, thread: list[str]) -> None:
        other = headish.id("add", "Or so?", "-c", thread[0])
        body = headish("request", "main~1", other, "--to", "anthropic").json
        assert [block["text"] for block in body["messages"][0]["content"]] == ["Hi", "Or so?"]

    def test_what_cannot_be_asked_is_told_in_a_line(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main")
        assert "no provider is named" in headish.fails("request", "main")
        assert "unknown provider 'nobody'" in headish.refuses("request", "main", "--to", "nobody")
        headish("add", "Hi", "-c", "main", "--set", "params.shoe_size=1", "--set", "search=true")
        assert "cannot carry" in headish.fails("request", "main", "--to", "cerebras")


class TestLint:
    def test_repairs_are_told_and_code_0(self, headish: Command, thread: list[str]) -> None:
        headish("add", "And?", "-c", "main")
        done = headish("lint", "main")
        assert "interrupted" in done.out
        assert f"(turn {thread[2]})" in done.out
        assert all(line.startswith("note: ") for line in done.out.splitlines())
        assert {each["kind"] for each in headish("lint", "main", "--json").json_lines} == {"note"}

    def test_a_refusal_is_code_1(self, headish: Command, thread: list[str]) -> None:
        headish("add", "And?", "-c", "main", "--set", "params.top_k=3")
        done = headish.run("lint", "main", "--for", "openai")
        assert done.code == 1
        assert done.out.splitlines()[0].startswith("refused: params.top_k")
        assert headish.run("lint", "main", "--for", "openai", "--json").json_lines[0]["kind"] == "refused"

    def test_nothing_to_tell_is_said(self, headish: Command) -> None:
        headish("add", "Hi")
        done = headish("lint", "--to", "openai")
        assert (done.out, done.err) == ("", "Everything is sent as it is stored.\n")


class TestReplies:
    def test_a_response_from_a_file_or_a_pipe_is_the_next_turn(self, headish: Command, tmp_path: Path) -> None:
        question = headish.id("add", "Hi", "-b", "main")
        (tmp_path / "reply.json").write_text(HELLO)
        whole = headish.id("reply", "main", "--from", "anthropic", str(tmp_path / "reply.json"))
        stream = b"".join(event_stream(anthropic_text("Hel", "lo."), named=True))
        done = headish("reply", question, "--from", "anthropic", "--json", stdin=stream)
        assert done.json["digest"] == headish("get", whole, "--json").json["digest"]
        assert headish("get", "main", "--json").json["id"] == whole
        assert "No bookmark moved" in done.err

    def test_one_that_was_cut_off_is_kept_and_told(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main")
        cut = b"".join(event_stream(anthropic_text("Hel", "lo.")[:3]))
        done = headish.run("reply", "main", "--from", "anthropic", stdin=cut)
        assert done.code == 1
        assert done.err == f"The answer is incomplete: 'headish retry {done.out.strip()}' asks again.\n"

    def test_what_is_no_answer_is_told_in_a_line_and_nothing_is_stored(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main")
        assert "a reply cannot be read" in headish.fails("reply", "main", "--from", "anthropic", stdin="nonsense")
        assert "nothing came from the provider" in headish.fails("reply", "main", "--from", "anthropic", stdin="\n")
        assert "nothing of it is an answer" in headish.fails("reply", "main", "--from", "openai", stdin="[]")
        assert "unknown provider" in headish.refuses("reply", "main", "--from", "nobody", stdin=HELLO)
        assert "no turn is named 'x'" in headish.fails("reply", "x", "--from", "anthropic", stdin=HELLO)
        assert "cannot be read" in headish.fails("reply", "main", "--from", "anthropic", "/none/reply.json")
        assert "--from" in headish.misused("reply", "main", stdin=HELLO)
        assert headish("stats", "--json").json["turns"] == 1


@pytest.mark.slow
class TestRecover:
    @pytest.fixture
    def left(self, headish: Command) -> Any:
        """A store in which an answer to ``main`` is arriving; its writer is this process."""
        with Store.open(headish.target) as store:
            store.add_turn("How was it?", bookmark="main")
            self.capture = begin(store, lease_seconds=600)
            yield store

    def test_what_may_live_is_left_alone_and_taken_by_force(self, headish: Command, left: Store) -> None:
        done = headish("recover")
        assert (done.out, done.err) == ("", "1 answer may still be arriving; --force takes what there is.\n")
        done = headish("recover", "--force")
        assert done.out.strip() == headish("get", "main", "--json").json["id"]
        assert headish("recover").err == "Nothing is left to recover.\n"

    def test_what_opening_the_store_recovered_is_printed_too(self, headish: Command, left: Store) -> None:
        run_sql(left, "UPDATE stream SET expires = 1")
        done = headish("recover", "--json")
        assert done.json["id"] == headish("get", "main", "--json").json["id"]
        assert done.json["meta"]["reply"]["incomplete"] is True


class TestUsage:
    def test_it_is_a_table_or_json(self, headish: Command, thread: list[str]) -> None:
        headish("reply", thread[1], "--from", "anthropic", stdin=HELLO.replace("small-1", "large-1"))
        assert [line.split() for line in headish("usage", "main").out.splitlines()] == [
            ["replies", "input", "cache", "read", "cache", "write", "output", "reasoning"],
            ["all", "1", "7", "2", "0", "5", "0"],
        ]
        by_model = headish("usage", "--all", "--by", "model", "--json").json_lines
        assert [(each["key"], each["replies"], each["output_tokens"]) for each in by_model] == [
            ("large-1", 1, 5), ("small-1", 1, 5),
        ]  # fmt: skip
        assert headish("usage", "main", thread[1], "--json").json["replies"] == 1

    def test_answers_that_say_nothing_of_tokens_are_told(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main")
        silent = json.dumps({**anthropic_message(), "usage": None, "model": None})
        headish("reply", "main", "--from", "anthropic", stdin=silent)
        done = headish("usage", "main", "--by", "model")
        assert done.out.splitlines()[1].split()[0] == "(unknown)"
        assert done.err == "1 reply has no token counts.\n"

    def test_wrong_usage_is_code_2(self, headish: Command, thread: list[str]) -> None:
        assert "leave the HEADISH out" in headish.misused("usage", "--all", "main")
        assert "--by" in headish.misused("usage", "--by", "colour")


class TestHowARequestIsWritten:
    def test_its_settings_can_be_given(self, headish: Command) -> None:
        headish("add", "Hi", "-b", "main", "--cache")
        headish("add", "Hello.", "-c", "main", "--role", "assistant")
        headish("add", "Go on.", "-c", "main")
        headish("add", "Be brief.", "-c", "main", "--role", "system")
        moved = headish("request", "main", "--to", "anthropic", "--json").json
        left = headish("request", "main", "--to", "anthropic", "--json", "--system-in-place").json
        assert ("system" in moved, "system" in left) == (True, False)
        assert left["messages"][-1]["role"] == "system"
        marked = headish("request", "main", "--to", "openai", "--json", "--cache-breakpoints").json
        assert marked["messages"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}

    def test_a_strict_one_refuses_results_without_a_call(self, headish: Command) -> None:
        block = '[{"type": "tool_result", "tool_use_id": "c1", "content": "4"}]'
        headish("add", block, "--json-blocks", "-b", "main")
        assert "sent as text" in headish("request", "main", "--to", "cohere").err
        assert "answers no open call" in headish.fails("request", "main", "--to", "cohere", "--strict")
        assert headish.run("lint", "main", "--for", "cohere", "--strict").code == 1
