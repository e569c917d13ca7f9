"""The sub-agents of a session: each has a conversation of its own, which lists fold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from headish.history.writing.calls import RecordedCall
from headish.serve.recorder.recording import CallRecorder
from support.passed import (
    CLAUDE_CODE,
    anthropic_answer,
    anthropic_body,
    assistant,
    message_item,
    passed,
    responses_answer,
    user,
)
from support.recorded import LANE, record, recorder_of, texts

OPENCODE = {"user-agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14"}
PARENT, CHILDREN = (
    "ses_ddd29fba2ffe3vdftPpwpRz9eI",
    ("ses_ddd29ec12ffeinEGerWPnn56FK", "ses_ddd29ec60ffeK0pP2Y8qY106ZG"),
)
CODEX = {
    "user-agent": "codex_exec/0.171.0 (Debian 12.0.0; x86_64)",
    "session-id": "01a222d8-ab53-7020-8a8d-003730854851",
}
THREADS = ("01a222d8-c6fa-72b1-abda-cdf76ac19860", "01a222d9-3524-7863-bcab-6226d8124b76")


def of_claude_code(agent: str | None) -> dict[str, str]:
    return CLAUDE_CODE if agent is None else {**CLAUDE_CODE, "x-claude-code-agent-id": agent}


def of_opencode(child: str | None) -> dict[str, str]:
    if child is None:
        return {**OPENCODE, "x-session-id": PARENT, "x-session-affinity": PARENT}
    return {**OPENCODE, "x-parent-session-id": PARENT, "x-session-id": child, "x-session-affinity": child}


def of_codex(thread: str | None) -> dict[str, str]:
    session = CODEX["session-id"]
    if thread is None:
        return {**CODEX, "thread-id": session}
    return {**CODEX, "thread-id": thread, "x-codex-parent-thread-id": session, "x-openai-subagent": "collab_spawn"}


def ask(store: Store, recorder: CallRecorder, headers: Mapping[str, str], *messages: Any) -> str:
    """Ask in Messages; the name of the conversation."""
    body = anthropic_body(messages)
    recorded = record(recorder, passed("anthropic", body, anthropic_answer("Done"), headers=headers))
    assert is_same(store.calls.body(recorded.call.id), body)
    return str(recorded.name)


def listed(store: Store) -> list[str | None]:
    """The conversations that lists do not fold."""
    shown = [each.conversation for each in store.conversations.list().entries]
    return [each.name for each in shown if "sub-agent" not in each.record.tags]


@pytest.mark.parametrize(
    ("of", "agents", "name"),
    [(of_claude_code, ("a36d4165e42c937c0", "a008e8243a2b9e2c3"), LANE), (of_opencode, CHILDREN, "opencode/prz9ei")],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_sub_agents_with_one_task_are_folded_under_their_session(
    store: Store, of: Any, agents: Sequence[str], name: str, restarts: bool
) -> None:
    recorder = recorder_of(store)
    task, rest = user("Count."), [assistant("Done"), user("Go on.")]
    assert ask(store, recorder, of(None), user("Delegate.")) == name
    assert [ask(store, recorder, of(each), task) for each in agents] == [f"{name}/2", f"{name}/3"]
    recorder = recorder_of(store) if restarts else recorder
    assert [ask(store, recorder, of(each), task, *rest) for each in agents] == [f"{name}/2", f"{name}/3"]
    assert ask(store, recorder, of(None), user("Delegate."), *rest) == name
    assert listed(store) == [name]
    assert store.verify().problems == ()


def test_a_sub_agent_that_is_recorded_first_leaves_the_name_to_its_conversation(store: Store) -> None:
    recorder = recorder_of(store)
    assert ask(store, recorder, of_claude_code("a36d4165e42c937c0"), user("Count.")) == f"{LANE}/2"
    assert ask(store, recorder, of_claude_code(None), user("Delegate.")) == LANE


def test_a_sub_agent_that_inherits_the_conversation_does_not_move_its_name(store: Store) -> None:
    """Codex gives its sub-agents the whole list unless the model asks for none."""
    recorder = recorder_of(store)

    def say(thread: str | None, *items: Mapping[str, Any], **more: Any) -> RecordedCall:
        body = {
            "model": "m",
            "input": [{"role": "user", "content": "Delegate."}, *items],
            "tools": [{"name": "t"}],
            **more,
        }
        answer = responses_answer(message_item("Done", f"msg_{more}"), id=f"resp_{thread}_{len(items)}")
        recorded = record(recorder, passed("responses", body, answer, headers=of_codex(thread)))
        assert is_same(store.calls.body(recorded.call.id), body)
        return recorded

    assert say(None).name == "codex/854851"
    told = [message_item("Done", "msg_{}"), {"role": "user", "content": "Count."}]
    assert [say(each, *told).name for each in THREADS] == ["codex/854851/2", "codex/854851/3"]
    assert say(None, told[0], {"role": "user", "content": "And?"}).name == "codex/854851"
    assert texts(store, "codex/854851") == ["Delegate.", "Done", "And?", "Done"]
    behind = say(THREADS[0], previous_response_id=f"resp_{THREADS[0]}_2")
    assert behind.name == "codex/854851/2"
    assert listed(store) == ["codex/854851"]
    assert store.verify().problems == ()


TITLE = {
    "user-agent": "codex-tui/0.171.0 (Debian 12.0.0; x86_64) tmux-256color (codex-tui; 0.171.0)",
    "session-id": "01a223d8-16cc-76c0-9ccb-82adc5f2a2a8",
    "thread-id": "01a223d8-16cc-76c0-9ccb-82adc5f2a2a8",
}


def told_by_codex(**turn: str) -> dict[str, Any]:
    """What a request of Codex says about itself, as JSON in JSON."""
    turn = {"session_id": TITLE["session-id"], "thread_id": TITLE["thread-id"], "agent_name": "/root", **turn}
    return {"client_metadata": {"thread_id": TITLE["thread-id"], "x-codex-turn-metadata": json.dumps(turn)}}


def ask_codex(recorder: CallRecorder, said: str, **more: Any) -> str:
    """Ask in a session of Codex's terminal; the name of the conversation."""
    body = {"model": "m", "input": [{"role": "user", "content": said}], "tools": [{"name": "t"}], **more}
    answer = responses_answer(message_item("Done", f"msg_{said}"), id=f"resp_{said}")
    return str(record(recorder, passed("responses", body, answer, headers=TITLE)).name)


def test_codex_asks_for_a_title_beside_its_conversations(store: Store) -> None:
    """Its terminal does so for each first question, with tools, in a session that names no parent."""
    recorder = recorder_of(store)
    title = told_by_codex(thread_source="thread_title", sandbox_mode="read-only")
    name = ask_codex(recorder, "Generate a concise, single-line task title", **title)
    assert name == "codex/f2a2a8/2"
    behind = {**title, "previous_response_id": "resp_Generate a concise, single-line task title"}
    assert ask_codex(recorder, "unsupported call: exec_command", **behind) == name
    assert listed(store) == []


@pytest.mark.parametrize(
    "metadata",
    [
        told_by_codex(thread_source="user"),
        *({"client_metadata": {"x-codex-turn-metadata": turn}} for turn in ("{", "[]", {})),
        {"client_metadata": []},
    ],
)
def test_codex_says_that_a_person_asks_or_nothing_that_can_be_read(store: Store, metadata: dict[str, Any]) -> None:
    assert ask_codex(recorder_of(store), "Hello?", **metadata) == "codex/f2a2a8"
    assert listed(store) == ["codex/f2a2a8"]
