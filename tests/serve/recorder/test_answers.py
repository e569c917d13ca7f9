"""Answers of calls that passed the gateway: whole, broken off, refused, and sent back by their clients."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from headish.values.names import new_refusal
from headish.values.results.calls import UNREAD
from support.passed import (
    CLAUDE_CODE,
    anthropic_answer,
    anthropic_body,
    chat_answer,
    message_item,
    passed,
    responses_answer,
    user,
)
from support.recorded import GEMINI, KEY, LANE, Talk, gemini_answer, record, recorder_of


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
