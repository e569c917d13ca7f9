"""What becomes of calls that passed the gateway: threads, lanes, answers, rows, and requests built again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Database, Store
from headish.content.forms.layout import is_same
from headish.errors import UnknownCall
from headish.gateway.spool import SpooledCall
from headish.history.writing.calls import RecordedCall
from headish.serve.recorder.recording import CallRecorder
from headish.values.names import new_refusal
from headish.values.results.calls import UNREAD
from headish.values.shapes import heal
from support.counting import calls
from support.passed import (
    CLAUDE_CODE,
    anthropic_answer,
    anthropic_body,
    assistant,
    chat_answer,
    message_item,
    passed,
    responses_answer,
    user,
)

KEY = "sk-ant-api03-abcdefghijklmnop0123456789"
LANE = "claude-code/097ac8"


def recorder_of(store: Store) -> CallRecorder:
    return CallRecorder(lambda _space: store)


def record(recorder: CallRecorder, call: SpooledCall) -> RecordedCall:
    recorded = recorder.record(call)
    assert recorded is not None
    return recorded


GEMINI = {"user-agent": "GeminiCLI/0.61.0/gemini-3.8-flash (linux; x64; terminal)"}


def gemini_body(messages: list[dict[str, Any]], system: str, **body: Any) -> dict[str, Any]:
    return {"systemInstruction": {"parts": [{"text": system}]}, "contents": [*messages], **body}


def gemini_answer(text: str) -> list[dict[str, Any]]:
    content = {"role": "model", "parts": [{"text": text}]}
    return [{"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}], "responseId": "r1"}]


def texts(store: Store, name: str) -> list[str]:
    return [store.text(turn.id) for turn in reversed(list(store.log(name)))]


class Talk:
    """A client of Messages that sends all of its list each time."""

    def __init__(self, store: Store, recorder: CallRecorder | None = None) -> None:
        self.store, self.recorder = store, recorder or recorder_of(store)
        self.messages: list[dict[str, Any]] = []
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def say(self, text: str, answer: str | None = None, **body: Any) -> RecordedCall:
        self.messages.append(user(text))
        return self.send(answer or f"On {text}", **body)

    def send(self, *answer: Any, **body: Any) -> RecordedCall:
        number = len(self.sent)
        sent = anthropic_body(self.messages, nonce=number, **body)
        call = passed("anthropic", sent, anthropic_answer(*answer, id=f"msg_{number}"), headers=CLAUDE_CODE)
        self.sent.append((call.id, sent))
        recorded = record(self.recorder, call)
        self.messages.append(assistant(*answer))
        return recorded

    def check_bodies(self) -> None:
        for id, sent in self.sent:
            assert is_same(self.store.calls.body(id), sent), id


class TestAThread:
    def test_the_next_request_of_a_client_continues_it(self, store: Store) -> None:
        talk = Talk(store)
        assert talk.say("Hi").name == LANE
        assert [talk.say(text).call.tip is not None for text in ("and", "so")] == [True, True]
        assert texts(store, LANE) == ["Be brief.", "Hi", "On Hi", "and", "On and", "so", "On so"]
        assert [entry.conversation.name for entry in store.conversations.list().entries] == [LANE]
        assert store.conversations.list().entries[0].title == "Hi"
        assert len(list(store.heads())) == 1
        talk.check_bodies()
        assert store.verify().problems == ()

    def test_a_restart_between_two_requests_changes_nothing(self, store: Store) -> None:
        talk = Talk(store)
        for number in range(4):
            talk.recorder = recorder_of(store)
            talk.say(f"{number}")
        assert store.stats().turns == 1 + 2 * 4
        assert [call.facts.added for call in store.calls.list()] == [1, 1, 1, 2]
        talk.check_bodies()

    @pytest.mark.parametrize("surface", ["anthropic", "chat", "responses"])
    def test_a_message_may_be_a_text_in_one_request_and_a_list_of_parts_in_the_next(
        self, store: Store, surface: str
    ) -> None:
        """A client marks its last message for the cache, and writes it as a text again afterwards."""
        name, kind = ("input", "input_text") if surface == "responses" else ("messages", "text")
        said: list[tuple[str, str]] = []
        sent = []
        recorder = recorder_of(store)
        for number in range(4):
            said = [*said, ("user", f"{number}")]
            listed: list[Any] = [{"role": role, "content": text} for role, text in said]
            listed[-1]["content"] = [{"type": kind, "text": said[-1][1]}]
            call = passed(surface, {"model": "m", name: listed}, headers={"x-headish-conversation": "trip"})
            record(recorder, call)
            sent.append((call.id, listed))
        assert [is_same(store.calls.body(id)[name], listed) for id, listed in sent] == [True] * 4
        assert (store.stats().turns, len(list(store.heads()))) == (4, 1)

    def test_a_replay_stores_nothing_twice(self, store: Store) -> None:
        body = anthropic_body([user("Hi")])
        call = passed("anthropic", body, anthropic_answer("Hello"), headers=CLAUDE_CODE)
        recorder = recorder_of(store)
        record(recorder, call)
        before = store.stats()
        assert recorder.record(call) is None
        assert recorder_of(store).record(call) is None
        assert store.stats() == before

    def test_a_changed_system_prompt_is_laid_over_the_old_one(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi", system="Today is Monday. " * 200)
        talk.say("and", system="Today is Tuesday. " * 200)
        talk.recorder = recorder_of(store)
        talk.say("so", system="Today is Wednesday. " * 200)
        talk.say("then", system="Today is Wednesday. " * 200)
        assert store.stats().turns == 1 + 2 * 4 + 2
        window = store.resolve(LANE).messages
        assert [message.role for message in window] == ["system", *["user", "assistant"] * 4]
        assert window[0].text.startswith("Today is Wednesday.")
        broke = [call.facts.broke for call in reversed(store.calls.list())]
        assert [each and (each.what, each.index) for each in broke] == [None, ("system", 0), ("system", 0), None]
        assert [each and bool(each.tokens) for each in broke] == [None, True, True, None]
        talk.check_bodies()

    def test_an_edit_is_a_branch_and_the_row_says_where_the_prefix_broke(self, store: Store) -> None:
        talk = Talk(store)
        for text in ("one", "two", "three"):
            talk.say(text)
        talk.messages = [*talk.messages[:2], user("zwei"), *talk.messages[3:], user("four")]
        broke = talk.send("On four")
        facts = store.calls.get(broke.call.id).facts
        assert facts.broke is not None
        assert (facts.broke.what, facts.broke.index) == ("message", 3)
        assert store.text(str(facts.broke.turn)) == "two"
        assert facts.added == 5
        assert len(list(store.heads())) == 2
        talk.check_bodies()

    def test_a_retry_and_another_answer_share_the_question(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        talk.messages.pop()
        again = talk.send("Another")
        facts = store.calls.get(again.call.id).facts
        assert (facts.added, facts.broke) == (0, None)
        assert store.stats().turns == 4
        assert store.text(LANE) == "Another"
        usage = [call.facts.usage["output_tokens"] for call in store.calls.list()]
        assert sum(usage) == sum(each.usage.output_tokens or 0 for each in store.usage(None)) == 14

    def test_tools_that_changed_break_the_whole_prefix(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        changed = talk.say("and", tools=[{"name": "Read", "input_schema": {"type": "object"}}])
        broke = store.calls.get(changed.call.id).facts.broke
        assert broke is not None
        assert (broke.what, broke.tokens) == ("tools", 100)
        talk.check_bodies()


class TestAnswers:
    def test_a_whole_tool_loop_is_one_thread(self, store: Store) -> None:
        talk = Talk(store)
        talk.messages.append(user("List"))
        call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        talk.send(thinking, "Let me look.", call)
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}
        talk.messages.append({"role": "user", "content": [result]})
        talk.send("One file.")
        assert len(list(store.heads())) == 1
        assert store.stats().turns == 5
        talk.check_bodies()

    def test_one_that_broke_off_is_incomplete_and_says_why(self, store: Store) -> None:
        answer = anthropic_answer("Half", whole=False)
        call = passed(
            "anthropic",
            anthropic_body([user("Hi")]),
            answer,
            headers=CLAUDE_CODE,
            outcome="broken",
            error="it broke off",
        )
        recorded = record(recorder_of(store), call)
        turn = store.get(str(recorded.call.answer))
        assert store.text(turn.id) == "Half"
        assert turn.meta.reply["incomplete"] is True
        assert "broke off" in str(turn.meta.reply["error"])
        assert store.calls.get(call.id).facts.outcome == "broken"

    def test_a_client_that_hangs_up_behind_the_last_event_has_the_whole_answer(self, store: Store) -> None:
        """OpenAI's SDK closes the connection at ``[DONE]``, often before the body has ended."""
        chunk = {"object": "chat.completion.chunk", "id": "c", "model": "m"}
        said = {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi."}}]}
        stop = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        for chunks, outcome in (([said, stop], "ok"), ([said], "client gone"), ([], "client gone")):
            call = passed("chat", {"model": "m", "messages": [user(outcome)]}, chunks, outcome="client gone")
            record(recorder_of(store), call)
            assert store.calls.get(call.id).facts.outcome == outcome, len(chunks)

    def test_a_refusal_is_no_answer_and_the_row_keeps_its_words(self, store: Store) -> None:
        refusal = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": f"Slow down, {KEY}"}})
        call = passed("anthropic", anthropic_body([user("Hi")]), refusal.encode(), headers=CLAUDE_CODE, status=429)
        record(recorder_of(store), call)
        facts = store.calls.get(call.id).facts
        assert (facts.status, store.text(LANE)) == (429, "Hi")
        assert str(facts.error).startswith("Slow down")
        assert KEY not in str(facts.error)

    def test_one_that_chat_clients_send_back_without_its_reasoning_is_the_same(self, store: Store) -> None:
        recorder = recorder_of(store)
        session = {"x-headish-conversation": "trip", "user-agent": "OpenAI/Python 1.0"}
        asked: list[dict[str, Any]] = [{"role": "user", "content": "2+3?"}]
        calls = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}]
        answer = chat_answer(None, reasoning_content="A sum.", tool_calls=calls)
        first = passed("chat", {"model": "m", "messages": asked}, answer, headers=session)
        record(recorder, first)
        back = {"role": "assistant", "content": None, "tool_calls": calls}
        asked = [*asked, back, {"role": "tool", "tool_call_id": "c1", "content": "5"}]
        second = passed("chat", {"model": "m", "messages": asked}, chat_answer("Five."), headers=session)
        record(recorder, second)
        third_list = [*asked, {"role": "assistant", "content": "Five."}, {"role": "user", "content": "Sure?"}]
        third = passed("chat", {"model": "m", "messages": third_list}, chat_answer("Yes."), headers=session)
        record(recorder_of(store), third)
        assert store.stats().turns == 6
        assert len(list(store.heads())) == 1
        assert is_same(store.calls.body(second.id)["messages"], asked)
        assert is_same(store.calls.body(third.id)["messages"], third_list)
        assert store.bookmarks["openai/trip"] == store.calls.get(third.id).answer

    def test_two_clients_that_send_an_answer_back_differently_keep_what_they_sent(self, store: Store) -> None:
        """One goes on while the recorder remembers that nobody has sent its answer back yet."""
        recorder, sent = recorder_of(store), []
        first: list[dict[str, Any]] = [{"role": "user", "content": "2+3?"}]
        said = {"role": "assistant", "content": "Five."}
        more = [*first, {**said, "reasoning_content": "A sum."}, {"role": "user", "content": "Sure?"}]
        for name, messages in (("one", first), ("other", [*first, said, first[0]]), ("one", more)):
            session = {"x-headish-conversation": name, "user-agent": "me"}
            answer = chat_answer("Five.", reasoning_content="A sum.")
            call = passed("chat", {"model": "m", "messages": messages}, answer, headers=session)
            record(recorder, call)
            sent.append((call.id, messages))
        for id, messages in sent:
            assert is_same(store.calls.body(id)["messages"], messages)

    def test_a_client_that_does_not_say_what_it_is_is_called_client(self, store: Store) -> None:
        body = {"model": "m", "messages": [user("?")]}
        for more in ({}, {"user-agent": ""}):
            call = passed("chat", body, chat_answer("!"), headers={"x-headish-conversation": "trip", **more})
            record(recorder_of(store), call)
            assert store.calls.get(call.id).client == "client"
        assert list(store.bookmarks) == ["client/trip"]

    def test_items_of_responses_come_back_with_nulls_and_ids(self, store: Store) -> None:
        recorder = recorder_of(store)
        headers = {"user-agent": "codex_exec/0.169.0", "session-id": "01a214e8-dc19-7711-b3c4-b36065cd2102"}
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
                     "encrypted_content": "gAAA"}  # fmt: skip
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}"}
        items: list[Any] = [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List"}]},
        ]
        body = {"model": "m", "tools": [{"type": "function", "name": "ls"}]}
        one = passed("responses", {**body, "input": items}, responses_answer(reasoning, call), headers=headers)
        record(recorder, one)
        items = [*items, {**reasoning, "content": None}, {**call, "status": "completed"},
                 {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "a.txt"}]  # fmt: skip
        two = passed("responses", {**body, "input": items}, responses_answer(message_item("One.")), headers=headers)
        assert record(recorder, two).name == "codex/cd2102"
        assert store.stats().turns == 5
        assert is_same(store.calls.body(two.id)["input"], items)

    def test_a_response_is_continued_by_its_id(self, store: Store) -> None:
        recorder = recorder_of(store)
        one = passed("responses", {"model": "m", "input": "Hi"}, responses_answer(message_item("Hello"), id="resp_a"))
        answer = record(recorder, one).call.answer
        body = {"model": "m", "input": "and?", "previous_response_id": "resp_a", "instructions": "Be brief."}
        two = passed("responses", body, responses_answer(message_item("So"), id="resp_b"))
        tip = record(recorder, two).call.tip
        assert store.get(str(tip)).meta.continues == (answer,)
        assert (store.calls.body(one.id)["input"], store.calls.body(two.id)) == ("Hi", body)
        unknown = {"model": "m", "input": "what?", "previous_response_id": "resp_of_another"}
        three = passed("responses", unknown, responses_answer(message_item("No"), id="resp_c"))
        record(recorder, three)
        assert "not stored here" in str(store.calls.get(three.id).facts.note)

    def test_a_conversation_that_the_provider_keeps_goes_on_where_it_ended(self, store: Store) -> None:
        tips = []
        for number, text in enumerate(("Hi", "and?", "so?")):
            recorder = recorder_of(store)
            body = {"model": "m", "input": text, "conversation": {"id": "conv_1"}}
            answer = responses_answer(message_item(f"On {text}"), id=f"resp_{number}")
            tips.append(record(recorder, passed("responses", body, answer)).call)
        assert [store.get(str(tip.tip)).meta.continues for tip in tips[1:]] == [(tip.answer,) for tip in tips[:-1]]
        assert store.calls.body(tips[2].id)["input"] == "so?"

    def test_what_a_client_calls_a_kept_conversation_becomes_a_name_that_is_allowed(self, store: Store) -> None:
        recorder = recorder_of(store)
        hostile = ("a\nb", "a\0b", "@{0}", "~1", "..", "\u202e", "x" * 6000, "x" * 6001, "0" * 25)
        names = []
        for number, conversation in enumerate(hostile):
            body = {"model": "m", "input": "Hi", "conversation": conversation}
            answer = responses_answer(message_item("Yes"), id=f"resp_{number}")
            names.append(str(record(recorder, passed("responses", body, answer)).name))
        assert [name for name in names if new_refusal(name) is not None or len(name) > 60] == []
        assert len(set(names)) == len(hostile)
        assert {each.conversation.name for each in store.conversations.list().entries} == set(names)
        assert max(len(each.conversation.record.key or "") for each in store.conversations.list().entries) < 300

    def test_an_id_of_a_response_that_no_index_takes_is_not_kept(self, store: Store) -> None:
        recorder = recorder_of(store)
        for id in ("r" * 512, "".join(f"{each:x}" for each in range(6000))):
            body = {"model": "m", "input": "Hi", "conversation": id}
            recorded = record(recorder, passed("responses", body, responses_answer(message_item("Yes"), id=id)))
            assert recorded.call.response == (id.encode() if len(id) <= 512 else None)

    def test_what_is_nested_too_deep_is_a_call_that_is_stored(self, store: Store) -> None:
        recorder = recorder_of(store)
        for deep in (400, 900, 100_000):
            nested = b"[" * deep + b"]" * deep
            for body in (
                b'{"model":"m","messages":' + nested + b"}",
                b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":' + nested + b"}",
                b'{"model":"m","messages":[{"role":"user","content":' + nested + b"}]}",
            ):
                call = passed("anthropic", body, anthropic_answer("Yes"), headers=CLAUDE_CODE)
                record(recorder, call)
                if not store.calls.get(call.id).facts.entries:
                    assert store.objects.get(UNREAD, call.id) is not None
            for surface, status in (("anthropic", 200), ("anthropic", 400), ("ollama", 200), ("chat", 200)):
                answer = b'{"error":' + nested + b',"message":' + nested + b',"choices":' + nested + b"}"
                sent = {"model": "m", "messages": [user("Hi")]}
                stored = record(recorder, passed(surface, sent, answer, status=status)).call
                assert stored.tip is not None, (surface, status, deep)

    @pytest.mark.parametrize("role", ["user", "system", None])
    def test_a_system_instruction_of_gemini_is_the_systems_whatever_role_it_has(
        self, store: Store, role: str | None
    ) -> None:
        """Google's SDKs give it the role of the user."""
        recorder, contents, sent = recorder_of(store), [], []
        for number in range(3):
            contents = [*contents, {"role": "user", "parts": [{"text": f"{number}"}]}]
            system = {"parts": [{"text": f"It is {number // 2}."}]} | ({} if role is None else {"role": role})
            body = {"systemInstruction": system, "contents": contents}
            sent.append((record(recorder, passed("gemini", body, gemini_answer("Yes."), headers=GEMINI)).call.id, body))
            contents = [*contents, {"role": "model", "parts": [{"text": "Yes."}]}]
        assert [turn.meta.role for turn in store.turns()] == [
            "system", "user", "assistant", "user", "assistant", "system", "user", "assistant",
        ]  # fmt: skip
        assert [is_same(store.calls.body(id), body) for id, body in sent] == [True] * 3

    @pytest.mark.parametrize("session", [{}, {"x-headish-conversation": "trip", "user-agent": "me"}])
    def test_a_thread_in_which_it_is_a_users_turn_goes_on(self, store: Store, session: dict[str, str]) -> None:
        """It was stored so once."""
        prompt = {"role": "user", "parts": [{"text": "Be brief."}]}
        contents = [prompt, {"role": "user", "parts": [{"text": "0"}]}, {"role": "model", "parts": [{"text": "Yes."}]}]
        tip = store.record(contents, form="gemini", bookmark="me/trip" if session else None).tip.id
        other = {"systemInstruction": prompt, "contents": [{"role": "user", "parts": [{"text": "?"}]}]}
        first = record(recorder_of(store), passed("gemini", other, gemini_answer("!"))).call
        assert [turn.meta.role for turn in store.log(str(first.answer))] == ["assistant", "user", "system"]
        contents = contents[1:]
        for number in range(3):
            contents = [*contents, {"role": "user", "parts": [{"text": f"{number}"}]}]
            call = passed("gemini", {"systemInstruction": prompt, "contents": contents}, gemini_answer("Yes."),
                          headers=session)  # fmt: skip
            assert store.get(str(record(recorder_of(store), call).call.tip)).meta.continues == (tip,)
            assert is_same(store.calls.body(call.id), {"systemInstruction": prompt, "contents": contents})
            tip = store.calls.get(call.id).answer
            contents = [*contents, {"role": "model", "parts": [{"text": "Yes."}]}]
        assert len(list(store.heads())) == 2

    def test_gemini_and_ollama_go_on_too(self, store: Store) -> None:
        recorder = recorder_of(store)
        contents: list[Any] = [{"role": "user", "parts": [{"text": "Hi"}]}]
        body = {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": contents}
        call = {"functionCall": {"name": "ls", "args": {"at": "."}}, "thoughtSignature": "c2ln"}
        answer = [{"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0,
                                   **({"finishReason": "STOP"} if last else {})}], "responseId": "r1"}
                  for part, last in (({"text": "Look."}, False), (call, True))]  # fmt: skip
        record(recorder, passed("gemini", body, answer))
        result = {"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}}
        more = [*contents, {"role": "model", "parts": [{"text": "Look."}, call]}, {"role": "user", "parts": [result]}]
        two = passed("gemini", {**body, "contents": more}, answer[:1])
        record(recorder, two)
        assert (store.stats().turns, is_same(store.calls.body(two.id), {**body, "contents": more})) == (5, True)
        lines = [
            {"model": "q", "message": {"role": "assistant", "content": each}, "done": False} for each in ("He", "y")
        ]
        lines.append({"model": "q", "message": {"role": "assistant", "content": ""}, "done": True,
                      "done_reason": "stop", "prompt_eval_count": 4, "eval_count": 2})  # fmt: skip
        asked = [{"role": "user", "content": "Hi", "images": ["aGk="]}]
        native = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
        first = record(recorder, passed("ollama", {"model": "q", "messages": asked}, native))
        assert store.text(str(first.call.answer)) == "Hey"
        assert store.calls.get(first.call.id).facts.usage == {"input_tokens": 4, "output_tokens": 2}
        asked = [*asked, {"role": "assistant", "content": "Hey"}, {"role": "user", "content": "and?"}]
        record(recorder, passed("ollama", {"model": "q", "messages": asked}, native))
        assert store.stats().turns == 5 + 4


class TestLanes:
    def test_titles_and_probes_stand_beside_the_conversation_and_out_of_lists(self, store: Store) -> None:
        recorder = recorder_of(store)
        probe: dict[str, Any] = {
            "model": "claude-x",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": "quota"}],
        }
        assert (
            record(recorder, passed("anthropic", probe, anthropic_answer("x"), headers=CLAUDE_CODE)).name == f"{LANE}/2"
        )
        assert Talk(store, recorder).say("Hi").name == LANE
        tags = {each.conversation.name: each.conversation.record.tags for each in store.conversations.list().entries}
        assert tags == {LANE: (), f"{LANE}/2": ("sub-agent",)}
        probe["messages"] = [*probe["messages"], {"role": "assistant", "content": "x"}, user("and on")]
        record(recorder, passed("anthropic", probe, anthropic_answer("y"), headers=CLAUDE_CODE))
        assert store.conversations.get(f"{LANE}/2").record.tags == ()
        again = Talk(store, recorder)
        assert again.say("Another task").name == f"{LANE}/3"

    @pytest.mark.parametrize("restarts", [False, True])
    def test_what_a_router_asks_before_each_prompt_stands_beside_the_conversation(
        self, store: Store, restarts: bool
    ) -> None:
        recorder = recorder_of(store)
        messages: list[dict[str, Any]] = []
        for number in range(3):
            recorder = recorder_of(store) if restarts else recorder
            messages.append({"role": "user", "parts": [{"text": f"Prompt {number}"}]})
            router = gemini_body(messages, "You are a router.")
            record(recorder, passed("gemini", router, gemini_answer('{"score": 7}'), headers=GEMINI))
            main = gemini_body(messages, "Be brief.", tools=[{"functionDeclarations": [{"name": "ls"}]}])
            recorded = record(recorder, passed("gemini", main, gemini_answer(f"On {number}"), headers=GEMINI))
            assert store.calls.get(recorded.call.id).facts.broke is None
            messages.append({"role": "model", "parts": [{"text": f"On {number}"}]})
        name = str(recorded.name)
        assert name.count("/") == 1
        said = [text for number in range(3) for text in (f"Prompt {number}", f"On {number}")]
        assert texts(store, name) == ["Be brief.", *said]
        tags = {each.conversation.name: each.conversation.record.tags for each in store.conversations.list().entries}
        assert tags == {name: (), f"{name}/2": ("sub-agent",)}

    def test_a_cache_mark_that_moves_off_the_system_prompt_makes_no_other_lane(self, store: Store) -> None:
        talk, prompt = Talk(store), {"type": "text", "text": "Be brief."}
        talk.say("Hi")
        sent = anthropic_body([*talk.messages, user("Summarize all of this.")], tools=[]) | {"system": [prompt]}
        recorded = record(talk.recorder, passed("anthropic", sent, anthropic_answer("Hi."), headers=CLAUDE_CODE))
        assert recorded.name == LANE
        assert texts(store, LANE) == ["Be brief.", "Hi", "On Hi", "Summarize all of this.", "Hi."]
        assert is_same(store.calls.body(recorded.call.id), sent)

    def test_what_goes_on_without_tools_under_the_same_system_prompt_stays_in_its_lane(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi", tools=[{"name": "Read", "input_schema": {"type": "object"}}])
        assert talk.say("Summarize all of this.", tools=[]).name == LANE
        assert texts(store, LANE) == ["Be brief.", "Hi", "On Hi", "Summarize all of this.", "On Summarize all of this."]
        talk.check_bodies()

    def test_a_compaction_names_the_lane_before(self, store: Store) -> None:
        recorder = recorder_of(store)
        Talk(store, recorder).say("Hi")
        summary = "This session is being continued from a previous conversation that ran out of context."
        assert Talk(store, recorder).say(summary).name == f"{LANE}/2"
        assert store.conversations.get(f"{LANE}/2").record.app["before"] == LANE

    def test_a_lane_that_was_renamed_goes_on_under_its_new_name(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        store.bookmarks.rename(LANE, "mine")
        talk.recorder = recorder_of(store)
        assert talk.say("and").name == "mine"
        assert [call.id for call in store.calls.list("mine")] == [each for each, _ in reversed(talk.sent)]

    def test_a_lane_that_is_renamed_while_it_is_remembered_goes_on_under_its_new_name(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        store.bookmarks.rename(LANE, "mine")
        assert talk.say("and").name == "mine"
        assert LANE not in store.bookmarks
        assert texts(store, "mine") == ["Be brief.", "Hi", "On Hi", "and", "On and"]
        store.bookmarks.remove("mine")
        again = talk.say("so").name
        assert again not in (None, "mine")
        assert texts(store, str(again))[-1] == "On so"

    def test_sessions_that_begin_alike_have_names_of_their_own(self, store: Store) -> None:
        names = []
        for ending in ("aa86b0", "bb86b0"):
            session = f"097ac834-a2b4-4deb-b006-36a077{ending}"
            body = anthropic_body([user(f"Hi {ending}")])
            headers = {**CLAUDE_CODE, "x-claude-code-session-id": session}
            names.append(
                record(recorder_of(store), passed("anthropic", body, anthropic_answer("x"), headers=headers)).name
            )
        assert names == [LANE, "claude-code/36a077bb86b0"]

    def test_without_a_session_the_oldest_equal_thread_goes_on(self, store: Store) -> None:
        recorder = recorder_of(store)
        messages: list[Any] = [{"role": "user", "content": "Hi"}]
        record(recorder, passed("chat", {"model": "m", "messages": messages}, chat_answer("Hello")))
        messages = [*messages, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "and"}]
        record(recorder_of(store), passed("chat", {"model": "m", "messages": messages}, chat_answer("so")))
        assert (store.stats().turns, list(store.bookmarks)) == (4, [])

    def test_a_call_goes_to_the_space_of_its_token(self, store: Store) -> None:
        asked: list[str] = []
        recorder = CallRecorder(lambda space: asked.append(space) or store, "home")  # type: ignore[func-returns-value]
        record(
            recorder, passed("chat", {"messages": [{"role": "user", "content": "a"}]}, chat_answer("b"), space="mine")
        )
        record(recorder, passed("chat", {"messages": [{"role": "user", "content": "c"}]}, chat_answer("d")))
        assert asked == ["mine", "home"]


class TestWhatIsKept:
    def test_no_key_is_stored_whatever_it_stood_in(self, file_place: Any) -> None:
        store = file_place.open()
        body = anthropic_body(
            [user(f"My key is {KEY}")], mcp_servers=[{"url": "https://x", "authorization_token": KEY}]
        )
        call = passed("anthropic", body, anthropic_answer(f"You said {KEY}"), headers=CLAUDE_CODE)
        recorder = recorder_of(store)
        record(recorder, call)
        broken = passed("anthropic", b'{"messages": "' + KEY.encode(), headers=CLAUDE_CODE)
        record(recorder, broken)
        store.close()
        for path in file_place.path.parent.glob(f"{file_place.path.name}*"):
            assert KEY.encode() not in path.read_bytes(), path

    @pytest.mark.parametrize("surface", ["anthropic", "chat", "gemini"])
    def test_half_a_character_does_not_keep_a_request_from_being_stored(self, store: Store, surface: str) -> None:
        """Clients cut texts within a character, and send back what a model said until it was cut off there."""
        recorder, half = recorder_of(store), "\ud83d"
        word = f"{half}\\{half}\U0001f600\\ud83d\\\\ude00"
        for count in (1, 3):
            if surface == "gemini":
                said = [{"role": role, "parts": [{"text": word}]} for role in ("user", "model", "user")]
                body: dict[str, Any] = gemini_body(said[:count], half, labels={half: "\ude00"})
                answer: Any = gemini_answer(word)
            else:
                said = [{"role": role, "content": word} for role in ("user", "assistant", "user")]
                body = {"messages": said[:count], "metadata": {half: "\ude00"}}
                answer = chat_answer(word) if surface == "chat" else anthropic_answer(word)
            call = passed(surface, body, answer, headers=GEMINI if surface == "gemini" else CLAUDE_CODE)
            recorded = record(recorder, call)
            facts = store.calls.get(call.id).facts
            assert (facts.error, facts.note) == (None, "lone surrogates in the request are kept as U+FFFD")
            assert is_same(store.calls.body(call.id), heal(body))
        healed = "\ufffd\\\ufffd\U0001f600\\ud83d\\\\ude00"
        assert recorded.name is not None
        assert texts(store, recorded.name) == ["\ufffd"] * (surface == "gemini") + [healed] * 4
        assert store.verify().problems == ()

    def test_what_is_stored_late_says_when_it_was_said(self, store: Store) -> None:
        call = passed("anthropic", anthropic_body([user("Hi")]), anthropic_answer("Hello"), headers=CLAUDE_CODE)
        assert call.end is not None
        call.begin = replace(call.begin, at=1_700_000_000_000)
        call.end = replace(call.end, at=1_700_000_005_000)
        recorded = record(recorder_of(store), call).call
        said = [store.get(str(each)).said_at.timestamp() for each in (recorded.tip, recorded.answer)]
        assert said == [1_700_000_000, 1_700_000_005]
        assert store.verify().problems == ()

    def test_other_paths_are_counted(self, store: Store) -> None:
        recorder = recorder_of(store)
        for path in ("/v1/messages/count_tokens", "/v1/models", "/v1/embeddings", "/v1/messages/batches"):
            record(recorder, passed("anthropic", b'{"messages": []}', b"{}", path=path))
        assert [call.facts.path for call in store.calls.list(limit=2)] == ["/v1/messages/batches", "/v1/embeddings"]
        assert (store.stats().turns, len(store.objects.list(UNREAD))) == (0, 0)

    def test_an_erasure_takes_the_rows_of_its_calls(self, store: Store) -> None:
        talk = Talk(store)
        first, second = talk.say("Hi"), talk.say("and")
        store.erase(str(second.call.answer), reason="asked")
        with pytest.raises(UnknownCall):
            store.calls.get(second.call.id)
        assert store.calls.get(first.call.id).tip == first.call.tip
        talk.say("so")
        assert store.text(LANE) == "On so"
        assert store.verify().problems == ()

    def test_a_row_that_was_altered_is_reported(self, file_place: Any) -> None:
        store = file_place.open()
        Talk(store).say("Hi")
        store.close()
        with sqlite3.connect(file_place.path) as database:
            database.execute("UPDATE call SET client = x'61'")
        store = file_place.open()
        assert [each.what for each in store.verify().problems] == ["it was altered: its seal disagrees"]


class TestCost:
    def test_a_request_costs_its_tail(self, file_place: Any) -> None:
        talk = Talk(file_place.open())
        statements: list[int] = []

        def say(number: int) -> None:
            talk.say(f"Question {number}", system="Today is " + ("Monday" if number < 30 else "Tuesday"))

        for number in range(60):
            count = calls if number % 2 else lambda work, _: work() or 0
            statements.append(count(lambda at=number: say(at), "execute"))
        drafts = [calls(lambda at=number: say(at), "make_read_draft") for number in range(60, 64)]
        # Behind the first ones, and behind the one that changed the system prompt, all cost the same.
        assert len(set(statements[3:29:2])) == len(set(statements[33::2])) == 1
        assert statements[59] == statements[29] > 5
        assert set(drafts) == {1}

    def test_a_growing_thread_stores_what_was_said_once(self, store: Store) -> None:
        talk = Talk(store)
        for number in range(100):
            talk.say(f"Question {number} " + "x" * 300, "Answer " + "y" * 300)
        said = sum(len(json.dumps(each["content"])) for each in talk.messages)
        stored = sum(len(store.payload(turn.id)) for turn in store.turns())
        assert stored <= 1.01 * said


def test_calls_go_to_the_space_that_has_the_name_now(tmp_path: Path) -> None:
    with Database.open(tmp_path / "talk.db") as database:
        recorder = CallRecorder(lambda name: database.store(name, create=True), "alice")
        messages = [user("Hi")]

        def say() -> None:
            body = anthropic_body(messages, nonce=len(messages))
            record(recorder, passed("anthropic", body, anthropic_answer("Yes"), headers=CLAUDE_CODE))
            messages.extend((assistant("Yes"), user("and")))

        def counted(space: str) -> int:
            return len(database.store(space, create=False).calls.list())

        say()
        database.spaces.rename("alice", "old")
        say()
        assert (counted("old"), counted("alice")) == (1, 1)
        database.spaces.erase("alice", reason="asked")
        say()
        assert (counted("old"), counted("alice")) == (1, 1)
        assert recorder.forget_unread() == 0
        assert database.store("alice").verify().problems == ()
