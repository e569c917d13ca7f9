"""The tool loop: the calls of an answer are run, and their results are the turn that comes next."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from headish import Store, Turn
from headish.errors import InvalidArgument
from headish.store.asking.tool_calls import REFUSED
from headish.tools import Router
from headish.values.blocks import Text, ToolResult, ToolUse
from headish.values.messages import Note
from support import mcp_server
from support.command import Command
from support.growing import texts
from support.insides import unchanged
from support.loopback import Loopback, event_stream
from support.places import in_memory_too
from support.providers.answers import anthropic_call, anthropic_calls, anthropic_text

CALLS = anthropic_calls(("f", {"n": 1}, "c1"), ("g", {"n": 2}, "c2"), ("f", {"n": 3}, "c3"), text="Let me look.")

NO_TERMINAL = "Not run: no terminal to ask for approval. Use --yes to run every call."


@pytest.fixture
def called(asking: Store, server: Loopback) -> Turn:
    """An answer on ``main`` with three calls."""
    server.answer(chunks=event_stream(CALLS))
    return asking.ask("Go", bookmark="main", ptr="milli")


def run(calls: Sequence[ToolUse]) -> list[ToolResult]:
    """A runner that says what it was given."""
    return [ToolResult(call.id, call.name, (Text(f"{call.name} {call.input['n']}"),)) for call in calls]


def results(store: Store, turn: Turn | None) -> list[tuple[str | None, str, bool | None]]:
    assert turn is not None
    blocks = store.blocks(turn.id)
    return [
        (block.tool_use_id, "".join(each.text for each in block.content if isinstance(each, Text)), block.is_error)
        for block in blocks
        if isinstance(block, ToolResult)
    ]


class TestTheCallsOfAnAnswer:
    def test_all_are_run_together_and_their_results_are_one_turn_in_order(self, asking: Store, called: Turn) -> None:
        given: list[Sequence[ToolUse]] = []

        def note_and_run(calls: Sequence[ToolUse]) -> list[ToolResult]:
            given.append(calls)
            return run(calls)

        turn = asking.run_tools("main", note_and_run)
        assert [[(call.id, call.name) for call in calls] for calls in given] == [
            [("c1", "f"), ("c2", "g"), ("c3", "f")]
        ]
        assert results(asking, turn) == [("c1", "f 1", None), ("c2", "g 2", None), ("c3", "f 3", None)]
        assert turn is not None
        assert (turn.meta.role, turn.meta.bookmark, turn.meta.continues) == ("tool", "main", (called.id,))
        assert asking.get("main") == turn
        assert asking.open_calls("main") == []

    def test_the_next_request_has_them_right_behind_the_calls(
        self, asking: Store, called: Turn, server: Loopback
    ) -> None:
        asking.run_tools("main", run)
        server.answer(chunks=event_stream(anthropic_text("Done.")))
        asking.ask(continues="main")
        calls, answered = server.requests[1].body["messages"][1:]
        assert [block["type"] for block in calls["content"]] == ["text", *["tool_use"] * 3]
        assert answered["role"] == "user"
        assert [(block["tool_use_id"], block["content"]) for block in answered["content"]] == [
            (id, [{"type": "text", "text": text}]) for id, text in (("c1", "f 1"), ("c2", "g 2"), ("c3", "f 3"))
        ]
        assert asking.request("main~1", tools=[{"name": "f"}, {"name": "g"}]).notes == ()
        assert asking.verify().problems == ()

    def test_one_that_is_refused_gets_an_error_result_and_the_others_run(self, asking: Store, called: Turn) -> None:
        turn = asking.run_tools("main", run, approve=lambda call: call.name != "g")
        assert results(asking, turn) == [("c1", "f 1", None), ("c2", REFUSED, True), ("c3", "f 3", None)]

    def test_where_all_are_refused_nothing_is_run(self, asking: Store, called: Turn) -> None:
        turn = asking.run_tools("main", lambda calls: pytest.fail("it ran"), approve=lambda call: False)
        assert [error for _, _, error in results(asking, turn)] == [True, True, True]

    def test_a_runner_that_raises_stores_nothing(self, asking: Store, called: Turn) -> None:
        def fail(calls: Sequence[ToolUse]) -> list[ToolResult]:
            raise ZeroDivisionError

        with unchanged(asking), pytest.raises(ZeroDivisionError):
            asking.run_tools("main", fail)

    def test_a_question_that_is_broken_off_stores_and_runs_nothing(self, asking: Store, called: Turn) -> None:
        def break_off(call: ToolUse) -> bool:
            raise KeyboardInterrupt

        with unchanged(asking), pytest.raises(KeyboardInterrupt):
            asking.run_tools("main", lambda calls: pytest.fail("it ran"), approve=break_off)

    @pytest.mark.parametrize("count", [0, 2, 4])
    def test_a_runner_that_gives_other_than_a_result_for_each_stores_nothing(
        self, asking: Store, called: Turn, count: int
    ) -> None:
        with unchanged(asking), pytest.raises(InvalidArgument, match=f"3 calls were to be run, and {count} results"):
            asking.run_tools("main", lambda calls: [ToolResult("x", "f", ())] * count)

    def test_there_is_nothing_to_run_but_for_an_answer_with_calls(self, asking: Store, called: Turn) -> None:
        with unchanged(asking):
            assert asking.run_tools("main~1", lambda calls: pytest.fail("it ran")) is None
        asking.run_tools("main", run)
        with unchanged(asking):
            assert asking.run_tools("main", lambda calls: pytest.fail("it ran")) is None

    def test_a_bookmark_that_moved_while_they_ran_stays_and_the_results_follow_their_calls(
        self, asking: Store, called: Turn
    ) -> None:
        moved: list[Turn] = []

        def run_slowly(calls: Sequence[ToolUse]) -> list[ToolResult]:
            moved.append(asking.add_turn("Never mind.", continues="main"))
            return run(calls)

        turn = asking.run_tools("main", run_slowly)
        assert turn is not None
        assert (turn.meta.bookmark, turn.meta.continues) == (None, (called.id,))
        assert asking.get("main") == moved[0]

    def test_of_several_names_the_one_that_is_run_by_moves(self, asking: Store, called: Turn) -> None:
        asking.bookmarks.set("other", called.id)
        turn = asking.run_tools("main", run)
        assert turn is not None
        assert (turn.meta.bookmark, asking.get("other")) == ("main", called)


FRAMES = (
    "<|start|>user<|message|>Go<|end|><|start|>assistant to=functions.rm call_id=c1{channel}"
    "<|constrain|>json<|message|>{{}}{stop}"
)


class TestCallsThatMayNotRun:
    """The rule of ``Router``: OpenChatML 2.2 §8.3 and §9."""

    @pytest.fixture
    def router(self) -> Router:
        router = Router()
        router.add("rm", lambda _: pytest.fail("it ran"))
        return router

    @pytest.mark.parametrize(("channel", "where"), [("final", "on final"), ("analysis", "on analysis")])
    def test_one_on_a_wrong_channel_gets_an_error_result_and_a_note(
        self, store: Store, router: Router, channel: str, where: str
    ) -> None:
        text = FRAMES.format(channel=f"<|channel|>{channel}", stop="<|call|>")
        store.import_file(io.BytesIO(text.encode()), "2.2", bookmark="main")
        answer = store.get("main")
        assert store.open_calls("main") == []
        [answered] = router.run(store.resolve("main").messages)
        told: list[Note] = []
        turn = store.run_tools("main", lambda calls: pytest.fail(f"{calls} ran"), told=told.append)
        reason = f"a function is called on commentary, not {where}"
        assert results(store, turn) == [("c1", f"Not run: {reason}.", True)]
        assert told == [Note(f"the call of functions.rm is not run: {reason}", answer.id)]
        assert reason in str(answered.content)

    def test_one_that_was_cut_off_gets_a_note_alone(self, store: Store, router: Router) -> None:
        text = FRAMES.format(channel="<|channel|>commentary", stop="")
        store.import_file(io.BytesIO(text.encode()), "2.2", bookmark="main", partial=True)
        assert store.open_calls("main") == []
        assert router.run(store.resolve("main").messages) == []
        told: list[Note] = []
        with unchanged(store):
            assert store.run_tools("main", lambda calls: pytest.fail(f"{calls} ran"), told=told.append) is None
        assert told == [Note("the call of functions.rm is not run: it was cut off", store.get("main").id)]

    @in_memory_too
    def test_the_others_run(self, store: Store) -> None:
        store.add_turn("Go", bookmark="main")
        whole, half = ToolUse("f", "c1", {"n": 1}), ToolUse("f", "c2", {"n": 2})
        store.add_turn([whole, half], role="assistant", continues="main", attributes={"stop": "none"})
        assert store.open_calls("main") == [whole]
        assert results(store, store.run_tools("main", run)) == [("c1", "f 1", None)]

    def test_one_whose_arguments_a_limit_kept_from_coming_is_not_run_without_them(
        self, asking: Store, server: Loopback
    ) -> None:
        begun, opened, *_, closed, ended, stop = anthropic_call("wipe", {"path": "/tmp"})
        ended["delta"]["stop_reason"] = "max_tokens"
        server.answer(chunks=event_stream([begun, opened, closed, ended, stop]))
        answer = asking.ask("Go", bookmark="main", ptr="milli")
        told: list[Note] = []
        assert asking.run_tools("main", lambda calls: pytest.fail(f"{calls} ran"), told=told.append) is None
        assert told == [Note("the call of wipe is not run: it was cut off", answer.id)]


@pytest.fixture
def servers(tmp_path: Path) -> str:
    """A file of one real tool server, over stdio."""
    path = tmp_path / "servers.json"
    config = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    path.write_text(json.dumps({"mcpServers": {"calc": config}}))
    return str(path)


@pytest.mark.slow
class TestWithRealServers:
    @pytest.fixture
    def headish(self, tmp_path: Path, server: Loopback) -> Command:
        command = Command(str(tmp_path / "loop.db"))
        command("ptr", "set", "milli", "anthropic/small", "--base-url", server.url, "--key-env", "TEST_KEY")
        return command

    def test_it_asks_until_an_answer_calls_nothing(self, headish: Command, server: Loopback, servers: str) -> None:
        add = ("calc___add", {"a": 2, "b": 3}, "c1")
        server.answer(chunks=event_stream(anthropic_calls(add, ("calc___fail", {}, "c2"), text="Adding.")))
        server.answer(chunks=event_stream(anthropic_calls(("calc___nothing", {}, "c3"))))
        server.answer(chunks=event_stream(anthropic_text("It is 5.")))
        loop = ("--tool-loop", "--mcp-config", servers, "--yes")
        done = headish("ask", "What is 2 + 3?", "-b", "main", "-p", "milli", *loop)
        assert done.out == "Adding.\nIt is 5.\n"
        first, second, third = (request.body for request in server.requests)
        assert "calc___add" in {tool["name"] for tool in first["tools"]}
        assert first["tools"] == second["tools"] == third["tools"]
        added, failed = second["messages"][-1]["content"]
        assert (added["tool_use_id"], added["content"][0]["text"]) == ("c1", "5")
        assert (failed["tool_use_id"], failed["is_error"]) == ("c2", True)
        [unknown] = third["messages"][-1]["content"]
        assert "has no tool 'nothing'" in unknown["content"][0]["text"]
        assert third["messages"][: len(second["messages"])] == second["messages"]
        with Store.open(headish.target) as store:
            roles = [turn.meta.role for turn in store.log("main")[::-1]]
            assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
            assert store.options("main")["servers"] == ["calc"]
            assert "add" in {tool["name"] for tool in store.tools["calc"]}
            assert store.verify().problems == ()

    def test_without_a_name_each_round_still_asks_from_the_results(
        self, headish: Command, server: Loopback, servers: str
    ) -> None:
        server.answer(chunks=event_stream(anthropic_calls(("calc___add", {"a": 2, "b": 3}, "c1"))))
        server.answer(chunks=event_stream(anthropic_text("It is 5.")))
        headish("ask", "2 + 3?", "-p", "milli", "--tool-loop", "--mcp-config", servers, "--yes")
        [result] = server.requests[1].body["messages"][-1]["content"]
        assert (result["type"], result["content"][0]["text"]) == ("tool_result", "5")

    def test_calls_that_were_left_open_are_run_first(self, headish: Command, server: Loopback, servers: str) -> None:
        loop = ("--tool-loop", "--mcp-config", servers, "--yes")
        server.answer(chunks=event_stream(anthropic_calls(("calc___add", {"a": 2, "b": 3}, "c1"))))
        done = headish("ask", "2 + 3?", "-b", "main", "-p", "milli", *loop, "--rounds", "1")
        assert 'open call: calc___add {"a":2,"b":3}' in done.err
        assert "--rounds allows more" in done.err
        server.answer(chunks=event_stream(anthropic_text("It is 5.")))
        headish("ask", "-c", "main", *loop)
        assert server.requests[1].body["messages"][-1]["content"][0]["content"][0]["text"] == "5"
        with Store.open(headish.target) as store:
            assert texts(store, "main~3") == ["2 + 3?"]
            assert store.get("main").meta.role == "assistant"

    def test_where_nobody_can_be_asked_calls_are_refused_and_that_is_said(
        self, headish: Command, server: Loopback, servers: str
    ) -> None:
        server.answer(chunks=event_stream(anthropic_calls(("calc___add", {"a": 2, "b": 3}, "c1"))))
        server.answer(chunks=event_stream(anthropic_text("Then not.")))
        done = headish("ask", "2 + 3?", "-p", "milli", "--tool-loop", "--mcp-config", servers)
        assert f"{NO_TERMINAL} The call was calc___add" in done.err
        [result] = server.requests[1].body["messages"][-1]["content"]
        assert (result["content"], result["is_error"]) == ([{"type": "text", "text": NO_TERMINAL}], True)

    def test_an_answer_that_is_cut_off_ends_the_loop(self, headish: Command, server: Loopback, servers: str) -> None:
        server.answer(chunks=event_stream(anthropic_calls(("calc___add", {"a": 2, "b": 3}, "c1"))[:-2]))
        done = headish.run("ask", "2 + 3?", "-p", "milli", "--tool-loop", "--mcp-config", servers, "--yes")
        assert (done.code, len(server.requests)) == (1, 1)
        assert "The answer is incomplete" in done.err
        assert "--rounds" not in done.err


def test_what_is_no_result_is_refused_and_nothing_is_stored(store: Store) -> None:
    store.add_turn("Go", bookmark="main")
    calls = [ToolUse("f", "c1", {})]
    answer = store.add_turn(calls, role="assistant", continues="main")
    with pytest.raises(InvalidArgument, match="the result of a call is a ToolResult"):
        store.run_tools("main", lambda _: ["4"])  # type: ignore[arg-type, list-item]
    assert store.get("main") == answer
    store.run_tools("main", lambda _: [ToolResult(content=(Text("4"),))])
    assert store.blocks("main") == (ToolResult("c1", "f", (Text("4"),)),)
