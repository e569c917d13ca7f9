"""Calls become replies: all at once, matched by id, and whatever goes wrong is a reply too (OpenChatML 2.2 §8)."""

from __future__ import annotations

import asyncio
import io
import json
import time
from threading import Event, Timer
from typing import Any

import pytest

from headish import Message, Store
from headish.errors import InvalidArgument, InvalidCall
from headish.tools import Router, open_calls
from headish.transcripts import lint, parse
from headish.values.blocks import Text, ToolResult, ToolUse
from headish.values.messages import Attributes

PEAK = {
    "type": "object", "required": ["peak"], "additionalProperties": False,
    "properties": {"peak": {"type": "string"}},
}  # fmt: skip


def call(name: str = "lookup", id: str | None = "c1", channel: str | None = None, **arguments: Any) -> Message:
    block = ToolUse(name, id, arguments)
    return Message(role="assistant", content=(block,), attributes=Attributes(channel=channel))


def envelope(message: Message) -> dict[str, Any]:
    [result] = message.content
    assert isinstance(result, ToolResult)
    [text] = result.content
    assert isinstance(text, Text)
    read: dict[str, Any] = json.loads(text.text)
    assert result.is_error == (None if read["ok"] else True)
    return read


def code(message: Message) -> str:
    return str(envelope(message)["error"]["code"])


@pytest.fixture
def router() -> Router:
    router = Router()
    router.add("lookup", lambda arguments: {"height": 8849, "of": arguments["peak"]}, schema=PEAK, source="a table")
    return router


class Quiet(Exception):
    """An error that is false, as one with a length of 0 is."""

    def __bool__(self) -> bool:
        return False


class TestReplies:
    def test_a_reply_is_an_envelope_with_provenance(self, router: Router) -> None:
        [reply] = router.run([call(peak="Everest")])
        said = envelope(reply)
        assert (said["ok"], said["content"], said["error"]) == (True, {"height": 8849, "of": "Everest"}, None)
        assert said["provenance"]["source"] == "a table"
        assert said["provenance"]["timestamp"].endswith("+00:00")
        assert (reply.role, reply.content[0].tool_use_id, reply.content[0].name) == ("tool", "c1", "lookup")  # type: ignore[union-attr]

    def test_functions_may_be_async(self) -> None:
        router = Router()

        async def later(arguments: dict[str, Any]) -> str:
            await asyncio.sleep(0)
            return "done"

        router.add("later", later)
        assert envelope(router.run([call("functions.later", channel="commentary")])[0])["content"] == "done"

    def test_calls_run_at_the_same_time_and_replies_keep_their_order(self) -> None:
        router, both = Router(), [Event(), Event()]

        def meet(arguments: dict[str, Any]) -> int:
            both[arguments["me"]].set()
            assert both[1 - arguments["me"]].wait(10), "the other call never ran"
            return int(arguments["me"])

        router.add("meet", meet)
        replies = router.run([call("meet", "a", me=0), call("meet", "b", me=1)])
        assert [(reply.content[0].tool_use_id, envelope(reply)["content"]) for reply in replies] == [("a", 0), ("b", 1)]  # type: ignore[union-attr]

    def test_only_calls_without_a_reply_are_run(self, router: Router) -> None:
        answered = Message(role="tool", content=(ToolResult("c1", "lookup", (Text("x"),)),))
        nameless = Message(role="tool", content=(ToolResult(None, "lookup", (Text("x"),)),))
        messages = [call(peak="a"), answered, call(id=None, peak="b"), nameless, call(id=None, peak="c")]
        assert [envelope(reply)["content"]["of"] for reply in router.run(messages)] == ["c"]

    def test_python_gets_its_code_as_it_stands(self) -> None:
        router = Router()
        router.add("python", lambda code: code.upper())
        message = Message(role="assistant", content=(ToolUse("python", "c1", raw="print(1)"),))
        assert envelope(router.run([message])[0])["content"] == "PRINT(1)"

    def test_replies_are_ready_to_append(self, router: Router, store: Store) -> None:
        text = (
            "version: 2.2\n\n<|start|>assistant<|channel|>analysis<|message|>Look.<|end|>\n"
            "<|start|>assistant to=functions.lookup call_id=c1<|channel|>commentary<|constrain|>json"
            '<|message|>{"peak": "K2"}<|call|>\n'
        )
        store.import_file(io.BytesIO(text.encode()), bookmark="main")
        for reply in router.run(store.resolve("main").messages):
            store.add_turn(reply.content, role="tool", continues="main", attributes=reply.attributes)
        exported = store.export("main")
        assert lint(parse(exported), "2.2") == []
        assert exported.endswith('"timestamp": ' + exported.rsplit('"timestamp": ', 1)[1])
        assert open_calls(store.resolve("main").messages) == []


CUT = '<|start|>assistant to=functions.lookup call_id=c1<|channel|>commentary<|message|>{"peak": "K2"}'


class TestCutOffCalls:
    """A message without its end is incomplete (OpenChatML 2.2 §9): its call may be half of one, even if it parses."""

    @pytest.mark.parametrize("message", [
        parse(CUT, "2.2", partial=True).messages[0],
        parse('<<TOOL_CALL name="lookup">>\n{"peak": "K2"}', "rwkv", partial=True).messages[0],
        parse(
            '<|im_start|>assistant\n<|function_call|>\n{"arguments": {"peak": "K2"}, "name": "lookup"}', "v0.1",
            partial=True,
        ).messages[0],
        Message(role="assistant", content=(ToolUse("lookup", "c1", {"peak": "K2"}, partial=True),)),
    ])  # fmt: skip
    def test_a_call_that_was_cut_off_is_never_run(self, message: Message) -> None:
        ran: list[Any] = []
        router = Router()
        router.add("lookup", ran.append)
        assert open_calls([message]) == []
        assert router.run([message]) == []
        with pytest.raises(InvalidCall, match="cut off"):
            router.check(message.content[-1], message)  # type: ignore[arg-type]
        assert ran == []

    def test_the_finished_calls_before_it_are_run(self, router: Router) -> None:
        whole, half = ToolUse("lookup", "c1", {"peak": "K2"}), ToolUse("lookup", "c2", {"peak": "K2"})
        message = Message(role="assistant", content=(whole, half), attributes=Attributes(stop="none"))
        assert [each.block.id for each in open_calls([message])] == ["c1"]
        assert [reply.content[0].tool_use_id for reply in router.run([message])] == ["c1"]  # type: ignore[union-attr]

    def test_resolve_leaves_it_out_of_the_window_and_says_so(self, store: Store) -> None:
        store.import_file(io.BytesIO(CUT.encode()), "2.2", bookmark="main", partial=True)
        window = store.resolve("main")
        assert window.messages[-1].content == ()
        assert [str(note) for note in window.notes] == [
            f"a call of functions.lookup that was cut off is left out (turn {store.get('main').id})"
        ]
        assert store.open_calls("main") == []
        assert store.export("main") == CUT


class TestRefusals:
    @pytest.mark.parametrize(("message", "reason"), [
        (call("nobody"), "no such tool"),
        (call(), "'peak' is a required property"),
        (call(peak=1), "1 is not of type 'string'"),
        (call(peak="x", more=1), "more"),
        (call("functions.lookup", channel="analysis", peak="x"), "on commentary, not on analysis"),
        (call("functions.lookup", channel="final", peak="x"), "on commentary, not on final"),
        (call("lookup", channel="final", peak="x"), "on commentary, not on final"),
        (call("functions.lookup", peak="x"), "on commentary, not without a channel"),
        (Message(role="assistant", content=(ToolUse("lookup", "c1", raw="{"),)), "not a JSON object"),
    ])  # fmt: skip
    def test_a_call_that_does_not_fit_is_never_run(self, message: Message, reason: str) -> None:
        ran: list[Any] = []
        router = Router()
        router.add("lookup", ran.append, schema=PEAK)
        with pytest.raises(InvalidCall, match=reason) as error:
            router.check(message.content[0], message)  # type: ignore[arg-type]
        assert error.value.code == "E-CALL-SCHEMA"
        assert code(router.run([message])[0]) == "E-CALL-SCHEMA"
        assert ran == []

    def test_an_id_that_stands_twice_is_refused_the_second_time(self, router: Router) -> None:
        replies = router.run([call(peak="a"), call(peak="b")])
        assert envelope(replies[0])["ok"]
        assert code(replies[1]) == "E-CALL-SCHEMA"

    def test_one_tool_that_fails_does_not_stop_the_others(self, router: Router) -> None:
        def fail(arguments: dict[str, Any]) -> None:
            raise RuntimeError("the wire is cut")

        router.add("fail", fail)
        router.add("odd", lambda arguments: {1, 2})
        replies = router.run([call("fail", "a"), call(id="b", peak="K2"), call("odd", "c")])
        assert code(replies[0]) == code(replies[2]) == "E-TOOL-FAILED"
        assert envelope(replies[0])["error"]["message"] == "RuntimeError: the wire is cut"
        assert envelope(replies[1])["ok"]

    @pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), GeneratorExit(), Quiet("no")], ids=repr)
    @pytest.mark.parametrize("is_async", [False, True])
    def test_whatever_a_tool_raises_is_a_reply(self, router: Router, error: BaseException, is_async: bool) -> None:
        def fail(arguments: dict[str, Any]) -> None:
            raise error

        async def afail(arguments: dict[str, Any]) -> None:
            raise error

        router.add("fail", afail if is_async else fail)
        replies = asyncio.run(asyncio.wait_for(router.arun([call("fail", "a"), call(id="b", peak="K2")]), 10))
        assert code(replies[0]) == "E-TOOL-FAILED"
        assert envelope(replies[1])["ok"]

    def test_a_tool_that_was_cancelled_inside_has_a_reply(self, router: Router) -> None:
        def fail(arguments: dict[str, Any]) -> None:
            raise asyncio.CancelledError

        router.add("fail", fail)
        [reply] = asyncio.run(asyncio.wait_for(router.arun([call("fail")]), 10))
        assert code(reply) == "E-TOOL-CANCELLED"

    def test_a_schema_s_references_are_not_fetched(self) -> None:
        router = Router()
        router.add("far", lambda arguments: 1, schema={"$ref": "http://127.0.0.1:9/schema.json"})
        assert code(router.run([call("far")])[0]) == "E-CALL-SCHEMA"

    def test_names_and_schemas_are_checked_when_they_are_given(self, router: Router) -> None:
        with pytest.raises(InvalidArgument, match="name of its own"):
            router.add("functions.lookup", print)
        with pytest.raises(InvalidArgument, match="not a JSON Schema"):
            router.add("other", print, schema={"type": "nothing"})


class TestLimits:
    def test_a_deadline_in_the_call_ends_it(self) -> None:
        router, never = Router(), Event()
        router.add("slow", lambda arguments: never.wait(60), schema={"type": "object", "additionalProperties": False})
        [reply] = router.run([call("slow", deadline_ms=30)])
        assert code(reply) == "E-TOOL-TIMEOUT"
        assert "30 ms" in envelope(reply)["error"]["message"]
        never.set()

    def test_the_router_s_own_deadline_holds_where_the_call_says_none(self) -> None:
        router = Router(deadline_ms=30)

        async def slow(arguments: dict[str, Any]) -> None:
            await asyncio.sleep(60)

        router.add("slow", slow)
        assert code(router.run([call("slow")])[0]) == "E-TOOL-TIMEOUT"

    def test_a_call_can_be_cancelled_after_another_conversations_call_with_its_id_ended(self) -> None:
        """Ids are unique in one conversation; a router serves several."""

        async def waits(argument: Any) -> str:
            await asyncio.sleep(argument["seconds"])
            return "done"

        async def ask() -> list[Message]:
            router = Router()
            router.add("lookup", waits)
            short = asyncio.ensure_future(router.arun([call(seconds=0.01)]))
            long = asyncio.ensure_future(router.arun([call(seconds=30)]))
            await short
            assert router.cancel("c1", "the user left")
            replies = [*await short, *await long]
            assert not router.cancel("c1")
            return replies

        first, second = asyncio.run(ask())
        assert "done" in repr(first.content)
        assert "the user left" in repr(second.content)

    def test_a_running_call_can_be_cancelled_from_another_thread(self) -> None:
        router, began, never = Router(), Event(), Event()

        def slow(arguments: dict[str, Any]) -> None:
            began.set()
            never.wait(60)

        router.add("slow", slow)
        router.add("quick", lambda arguments: 1)

        def cancel() -> None:
            began.wait(10)
            while not router.cancel("c1", "the user left"):
                time.sleep(0.001)

        Timer(0, cancel).start()
        replies = router.run([call("slow"), call("quick", "c2")])
        assert envelope(replies[0])["error"] == {"code": "E-TOOL-CANCELLED", "message": "the user left"}
        assert envelope(replies[1])["ok"]
        assert not router.cancel("c1")
        never.set()
