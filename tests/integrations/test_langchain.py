"""``HeadishChatMessageHistory`` gives what LangChain's history in memory gives, whatever is done to both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Database
from headish.adapters import sessions
from headish.adapters.sessions import session_of
from headish.content.drafts import Draft
from headish.content.hashes import DigestFields, hash_payload
from support.frameworks import needs
from support.langchain.messages import MESSAGES
from support.langchain.rows import read_rows
from support.later import Later
from support.loops import failing

pytestmark = needs("langchain_core", "langchain-core")
core = Later("langchain_core.messages")
adapter = Later("headish.integrations.langchain")
inner = Later("headish.integrations.langchain.messages")
ROWS = read_rows("history")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
JSON = (
    st.none()
    | st.booleans()
    | st.integers()
    | TEXTS
    | st.lists(TEXTS, max_size=2)
    | st.dictionaries(TEXTS, TEXTS, max_size=2)
)
PARTS = st.one_of(
    TEXTS,
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": TEXTS})}),
    st.dictionaries(TEXTS, JSON, max_size=3),
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "name": TEXTS,
            "args": st.dictionaries(TEXTS, JSON, max_size=2),
            "id": TEXTS | st.none(),
            "type": st.just("tool_call"),
        }
    ),
    max_size=2,
)
KINDS = [
    "HumanMessage",
    "SystemMessage",
    "AIMessage",
    "ToolMessage",
    "ChatMessage",
    "FunctionMessage",
    "AIMessageChunk",
]


SOURCES = st.fixed_dictionaries(
    {},
    optional={
        "additional_kwargs": st.dictionaries(TEXTS, JSON, max_size=2),
        "response_metadata": st.dictionaries(TEXTS, JSON, max_size=2),
        "id": TEXTS,
        "name": TEXTS,
    },
)


@st.composite
def messages(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(KINDS))
    own: dict[str, Any] = {"content": draw(TEXTS | st.lists(PARTS, max_size=3))}
    own |= draw(SOURCES)
    if kind == "AIMessage":
        own["tool_calls"] = draw(CALLS)
        if draw(st.booleans()):
            own["usage_metadata"] = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    own |= (
        {"tool_call_id": draw(TEXTS), "status": draw(st.sampled_from(["success", "error"])), "artifact": draw(JSON)}
        if kind == "ToolMessage"
        else {}
    )
    own |= {"role": draw(TEXTS)} if kind == "ChatMessage" else {}
    own |= {"name": draw(TEXTS)} if kind == "FunctionMessage" else {}
    return getattr(core, kind)(**own)


ACTIONS = st.lists(st.tuples(st.just("add"), st.lists(messages(), max_size=3)) | st.just(("clear", None)), max_size=6)


@pytest.fixture
def history() -> Iterator[Any]:
    made = adapter.HeadishChatMessageHistory("chat", erase=False)
    yield made
    made.close()


@given(actions=ACTIONS, is_async=st.booleans())
@settings(max_examples=30)
def test_it_does_what_the_history_in_memory_does(actions: list[tuple[str, Any]], is_async: bool) -> None:
    from langchain_core.chat_history import InMemoryChatMessageHistory

    ours, theirs = adapter.HeadishChatMessageHistory("chat", erase=False), InMemoryChatMessageHistory()
    for verb, said in actions:
        for each in (ours, theirs):
            if verb == "add":
                asyncio.run(each.aadd_messages(said)) if is_async else each.add_messages(said)
            else:
                asyncio.run(each.aclear()) if is_async else each.clear()
        assert (asyncio.run(ours.aget_messages()) if is_async else ours.messages) == theirs.messages
    ours.close()


def test_a_message_is_stored_once_as_blocks(history: Any) -> None:
    call = {"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    history.add_messages(
        [
            core.SystemMessage("Be brief."),
            core.HumanMessage("2+3?"),
            core.AIMessage("Let me see.", tool_calls=[call], id="run-1", response_metadata={"model": "m"}),
            core.ToolMessage("5", tool_call_id="c1"),
            core.AIMessage([{"type": "text", "text": "Five."}]),
        ]
    )
    with history._held.use() as store:
        assert [turn.meta.role for turn in store.log("chat")] == ["assistant", "tool", "assistant", "user", "system"]
        assert (store.text("chat"), store.conversations.get("chat").record.key) == ("Five.", "chat")
        blocks = store.blocks("chat~2")
        assert [type(each).__name__ for each in blocks] == ["Text", "ToolUse"]
        assert store.verify().problems == ()


def test_a_conversation_of_another_origin_is_read(history: Any) -> None:
    with history._held.use() as store:
        store.add_turn("Hi", bookmark="chat")
        store.add_turn(
            [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}], role="assistant", continues="chat"
        )
        store.add_turn([{"type": "tool_result", "tool_use_id": "c", "content": "x"}], role="tool", continues="chat")
    human, ai, tool = history.messages
    assert (human.content, ai.tool_calls[0]["args"], tool.content, tool.tool_call_id) == ("Hi", {"a": 1}, "x", "c")


def test_a_row_of_an_older_version_is_the_message_that_it_was() -> None:
    def is_that_message(name: str) -> None:
        kind, fields = MESSAGES[name]
        app = None if ROWS[name].app is None else ROWS[name].app.encode()
        assert inner.messages_of(ROWS[name].kept, app) == core.messages_from_dict([{"type": kind, "data": fields}])

    assert failing(ROWS, is_that_message) == {}


def test_an_older_history_is_read_and_goes_on(history: Any) -> None:
    with history._held.use() as store:
        for name in ("human", "ai of image", "tool"):
            row = ROWS[name]
            draft = Draft(row.payload.encode(), DigestFields(row.role, hash_payload(row.payload.encode())),
                          system=row.system.encode(), app=(row.app or "{}").encode())  # fmt: skip
            sessions.add(store, session_of("chat"), [draft])
    history.add_message(core.AIMessage("And on."))
    expected = [MESSAGES[name][1]["content"] for name in ("human", "ai of image", "tool")]
    assert [each.content for each in history.messages] == [*expected, "And on."]


def test_a_message_that_no_turn_can_say_is_kept_whole_behind_its_words(history: Any) -> None:
    odd = core.HumanMessage("Hi", additional_kwargs={"api_key": "sk-ant-0123456789abcdefghij0123"})
    history.add_messages([odd, core.RemoveMessage(id="x")])
    with history._held.use() as store:
        assert [type(each).__name__ for each in store.blocks("chat~1")] == ["Text", "ProviderBlock"]
        assert store.text("chat~1") == "Hi"
    assert history.messages == [odd, core.RemoveMessage(id="x")]


def test_the_usage_of_an_answer_is_counted_and_names_are_speakers(history: Any) -> None:
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    answer = core.AIMessage("Yes", usage_metadata=usage, response_metadata={"model_name": "m-1"})
    history.add_messages([core.HumanMessage("Well?", name="Ada"), answer])
    with history._held.use() as store:
        [used] = store.usage("chat", by="model")
        assert (used.key, used.usage.input_tokens, used.usage.output_tokens) == ("m-1", 9, 2)
        assert [message.attributes.speaker for _, message in store.messages("chat")] == ["Ada", None]


def test_an_edited_message_says_what_it_was_edited_to(history: Any) -> None:
    call = {"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    history.add_messages(
        [
            core.HumanMessage(
                [{"type": "text", "text": "Long"}, {"type": "image", "url": "https://example.org/a.png"}]
            ),
            core.AIMessage("Let me add.", tool_calls=[call], id="a1"),
        ]
    )
    with history._held.use() as store:
        store.edit("chat~1", "Short", keep=True)
        store.edit("chat", [{"type": "text", "text": "No call."}])
    human, ai = history.messages
    assert human.content == [{"type": "text", "text": "Short"}, {"type": "image", "url": "https://example.org/a.png"}]
    assert (ai.content, ai.tool_calls, ai.id) == ("No call.", [], "a1")


def test_halves_of_characters_are_replaced(history: Any) -> None:
    history.add_message(core.HumanMessage("half \ud800"))
    assert [each.content for each in history.messages] == ["half \ufffd"]


def test_what_is_no_json_is_refused_and_nothing_is_stored(history: Any) -> None:
    with pytest.raises(TypeError):
        history.add_messages([core.HumanMessage("a"), core.ToolMessage("x", tool_call_id="c", artifact=object())])
    assert history.messages == []


@pytest.mark.parametrize("erase", [False, True])
def test_erase_decides_whether_words_stay(tmp_path: Path, erase: bool) -> None:
    with Database.open(tmp_path / "a.db") as database:
        history = adapter.HeadishChatMessageHistory("chat", database, erase=erase)
        history.add_messages([core.HumanMessage("a"), core.AIMessage("b")])
        history.clear()
        assert history.messages == []
        assert [turn.erased is not None for turn in database.store().turns()] == [erase] * 2


def test_a_closed_history_raises_a_runtime_error(history: Any) -> None:
    history.close()
    history.close()
    for call in (lambda: history.messages, history.clear, lambda: history.add_messages([])):
        with pytest.raises(RuntimeError, match="HeadishChatMessageHistory is closed"):
            call()


def test_a_history_is_closed_at_the_end_of_its_block(tmp_path: Path) -> None:
    from langchain_core.messages import HumanMessage

    from headish.integrations.langchain import HeadishChatMessageHistory

    with HeadishChatMessageHistory("chat", tmp_path / "chat.db") as history:
        history.add_messages([HumanMessage("Hi")])
    with pytest.raises(RuntimeError, match="is closed"):
        history.clear()


def test_a_chain_remembers_through_it(tmp_path: Path) -> None:
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.history import RunnableWithMessageHistory

    def open_history(session_id: str) -> Any:
        return adapter.HeadishChatMessageHistory(session_id, tmp_path / "a.db")

    model = RunnableLambda(lambda messages: core.AIMessage(f"{len(messages)} messages"))
    chain = RunnableWithMessageHistory(model, open_history)
    config = {"configurable": {"session_id": "chat"}}
    told = [chain.invoke([core.HumanMessage("Hi")], config=config).content for _ in range(2)]
    assert told == ["1 messages", "3 messages"]
