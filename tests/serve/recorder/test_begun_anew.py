"""A first question that was changed stays in its conversation: after Ctrl-C in the first answer, clients add the next
question to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from headish.serve.recorder.recording import CallRecorder
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
from support.recorded import GEMINI, LANE, Talk, gemini_answer, gemini_body, record, recorder_of, texts

REMINDER = {"type": "text", "text": "<system-reminder>\nToday is Monday.\n</system-reminder>"}
TOOLS = [{"functionDeclarations": [{"name": "ls"}]}]


def asked(*said: str, reminder: dict[str, Any] = REMINDER) -> dict[str, Any]:
    return {"role": "user", "content": [reminder, *({"type": "text", "text": each} for each in said)]}


def listed(store: Store) -> list[str | None]:
    return [each.conversation.name for each in store.conversations.list().entries]


def versions(store: Store, name: str) -> list[str]:
    """The versions of the first question of a conversation."""
    first = [turn for turn in store.log(name) if turn.meta.role == "user"][-1]
    return [store.text(each.id) for each in store.siblings(first.id).turns]


@pytest.mark.parametrize("restarts", [False, True])
def test_claude_code_interrupted_in_its_first_answer_goes_on_in_one_conversation(store: Store, restarts: bool) -> None:
    talk = Talk(store)
    talk.messages = [asked("Hi")]
    body = anthropic_body(talk.messages)
    half = anthropic_answer("On H", whole=False)
    record(talk.recorder, passed("anthropic", body, half, headers=CLAUDE_CODE, outcome="client gone"))
    talk.messages = [asked("Hi\n", "Continue from where you left off."), assistant("No response requested.")]
    for text in ("and", "so"):
        talk.recorder = recorder_of(store) if restarts else talk.recorder
        assert talk.say(text).name == LANE
    assert list(store.bookmarks) == [LANE]
    assert listed(store) == [LANE]
    assert store.conversations.list().entries[0].title == "Hi"
    assert [each.endswith("Hi") for each in versions(store, LANE)] == [True, False]
    assert texts(store, LANE)[2:] == ["No response requested.", "and", "On and", "so", "On so"]
    talk.check_bodies()
    assert store.verify().problems == ()


def test_a_question_that_was_interrupted_twice_is_still_the_same(store: Store) -> None:
    talk = Talk(store)
    for said in (["Hi"], ["Hi\n", "and"], ["Hi\n", "and\n", "so"]):
        talk.messages = [asked(*said)]
        assert talk.send("No").name == LANE
    assert listed(store) == [LANE]
    assert len(versions(store, LANE)) == 3


def test_a_reminder_that_changes_from_day_to_day_begins_no_other_conversation(store: Store) -> None:
    talk = Talk(store)
    talk.messages = [asked("Hi")]
    talk.send("Hello")
    tuesday = {"type": "text", "text": "<system-reminder>\nToday is Tuesday.\n</system-reminder>"}
    talk.messages = [asked("Hi", reminder=tuesday), assistant("Hello")]
    assert talk.say("and").name == LANE
    assert listed(store) == [LANE]
    assert len(versions(store, LANE)) == 1
    talk.check_bodies()


def test_a_list_of_codex_that_a_compaction_began_anew_stays_in_its_conversation(store: Store) -> None:
    """Version 0.171 lists its tools in the first item, with another id after a compaction."""
    recorder = recorder_of(store)
    headers = {"user-agent": "codex_exec/0.171.0", "session-id": "097ac834-a2b4-4deb-b006-36a0772986b0"}
    summary = "Another language model started to solve this problem and produced a summary: they said Hi."
    for id, said in (("at_1", ["Hi"]), ("at_2", ["Hi", summary, "and"])):
        tools = {"type": "additional_tools", "id": id, "role": "developer", "tools": []}
        asked_for = [{"type": "message", "role": "user", "content": each} for each in said]
        body = {"model": "m", "input": [tools, *asked_for]}
        recorded = record(recorder, passed("responses", body, responses_answer(message_item("Yes")), headers=headers))
        assert is_same(store.calls.body(recorded.call.id), body)
    assert listed(store) == ["codex/097ac8"]
    assert store.verify().problems == ()


def test_a_session_whose_tools_stand_behind_its_instructions_is_listed(store: Store) -> None:
    """As Codex 0.171 lists them for gpt-5.2. A request without tools is one beside a conversation."""
    headers = {"user-agent": "codex_exec/0.171.0", "session-id": "097ac834-a2b4-4deb-b006-36a0772986b0"}
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "ls"}]}
    told = {"type": "message", "role": "developer", "content": "Be brief."}
    body = {"model": "m", "input": [told, tools, {"type": "message", "role": "user", "content": "Hi"}]}
    record(recorder_of(store), passed("responses", body, responses_answer(message_item("Yes")), headers=headers))
    assert listed(store) == ["codex/097ac8"]


def ask_gemini(
    store: Store, recorder: CallRecorder, context: str, *said: str, after: Sequence[dict[str, Any]] = ()
) -> str:
    """Gemini CLI asks its router and then its model. Returns the name of the conversation."""
    parts = [{"text": f"<session_context>{context}</session_context>"}, *({"text": each} for each in said)]
    contents = [{"role": "user", "parts": parts}, *after]
    router = gemini_body(contents, "You are a router.")
    main = gemini_body(contents, "Be brief.", tools=TOOLS)
    record(recorder, passed("gemini", router, gemini_answer('{"score": 7}'), headers=GEMINI))
    recorded = record(recorder, passed("gemini", main, gemini_answer(f"On {said[-1]}"), headers=GEMINI))
    assert is_same(store.calls.body(recorded.call.id), main)
    return str(recorded.name)


@pytest.mark.parametrize("restarts", [False, True])
def test_gemini_cli_interrupted_in_its_first_answer_goes_on_in_one_conversation(store: Store, restarts: bool) -> None:
    recorder = recorder_of(store)
    name = ask_gemini(store, recorder, "/home", "Hi")
    recorder = recorder_of(store) if restarts else recorder
    assert ask_gemini(store, recorder, "/home", "Hi", "and") == name
    assert listed(store) == [name, f"{name}/2"]
    assert [len(versions(store, each)) for each in (name, f"{name}/2")] == [2, 2]
    assert store.conversations.get(f"{name}/2").record.tags == ("sub-agent",)
    assert store.verify().problems == ()


@pytest.mark.parametrize("restarts", [False, True])
def test_gemini_cli_resumed_on_another_day_goes_on_in_one_conversation(store: Store, restarts: bool) -> None:
    recorder = recorder_of(store)
    name = ask_gemini(store, recorder, "Monday", "Hi")
    recorder = recorder_of(store) if restarts else recorder
    after = [{"role": "model", "parts": [{"text": "On Hi"}]}, {"role": "user", "parts": [{"text": "and"}]}]
    assert ask_gemini(store, recorder, "Tuesday", "Hi", after=after) == name
    assert listed(store) == [name, f"{name}/2"]
    assert len(versions(store, name)) == 1
    assert store.verify().problems == ()


def test_the_same_first_words_in_another_folder_are_another_conversation_of_gemini_cli(store: Store) -> None:
    recorder = recorder_of(store)
    name = ask_gemini(store, recorder, "/home", "Hi")
    after = [{"role": "model", "parts": [{"text": "Hello"}]}, {"role": "user", "parts": [{"text": "and"}]}]
    assert ask_gemini(store, recorder, "/work", "Hi", after=after) == name
    assert listed(store) == [name, f"{name}/2", None]
    assert len(versions(store, name)) == 1


def test_the_same_question_of_a_program_with_and_without_a_system_prompt_is_two_conversations(store: Store) -> None:
    recorder = recorder_of(store)
    for messages in ([{"role": "system", "content": "Be brief."}, user("Hi")], [user("Hi")]):
        record(recorder, passed("chat", {"messages": messages}, chat_answer("Hello")))
    assert listed(store) == [None, None]


def test_another_task_of_a_session_that_begins_with_the_same_words_and_more_is_its_own(store: Store) -> None:
    recorder = recorder_of(store)
    for said, name in ((["Hi there"], LANE), (["Hi"], f"{LANE}/2"), (["Hi there, friend"], f"{LANE}/3")):
        talk = Talk(store, recorder)
        talk.messages = [asked(*said)]
        assert talk.send("Hello").name == name
