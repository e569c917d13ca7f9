"""A conversation that an adapter deleted for good leaves neither its words nor its id in the file."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from headish import Database, Store
from headish.errors import UnknownBookmark
from headish_cli.llm_plugin import register_commands
from imports import test_llm

ID, WORDS = "SECRET-conversation-7f3a", "SECRET-words-91c2"
STAYS = "another-conversation"


def delete_with_agents(path: str) -> None:
    pytest.importorskip("agents")
    from headish.integrations.agents import HeadishSession

    async def work(id: str, *, deletes: bool) -> None:
        session = HeadishSession(id, path, erase=True)
        await session.add_items([{"role": "user", "content": WORDS if deletes else "stays"}])
        if deletes:
            await session.clear_session()
        session.close()

    asyncio.run(work(STAYS, deletes=False))
    asyncio.run(work(ID, deletes=True))


def delete_with_langchain(path: str) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.messages import HumanMessage

    from headish.integrations.langchain import HeadishChatMessageHistory

    for id, words in ((STAYS, "stays"), (ID, WORDS)):
        with HeadishChatMessageHistory(id, path, erase=True) as history:
            history.add_messages([HumanMessage(words)])
            if id == ID:
                history.clear()


def delete_with_adk(path: str) -> None:
    pytest.importorskip("google.adk")
    from google.adk.events.event import Event
    from google.genai.types import Content, Part

    from headish.integrations.adk import HeadishSessionService

    async def work() -> None:
        service = HeadishSessionService(path, erase=True)
        for id, words in ((STAYS, "stays"), (ID, WORDS)):
            made = await service.create_session(app_name="app", user_id="ann", session_id=id, state={"own": words})
            event = Event(author="user", content=Content(role="user", parts=[Part(text=words)]))
            await service.append_event(made, event)
        await service.delete_session(app_name="app", user_id="ann", session_id=ID)
        await service.close()

    asyncio.run(work())


def delete_with_langgraph(path: str) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.messages import HumanMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    from headish.integrations.langgraph import HeadishSaver

    builder = StateGraph(MessagesState)
    builder.add_node("nothing", lambda state: {})
    builder.add_edge(START, "nothing")
    builder.add_edge("nothing", END)
    with HeadishSaver(path, erase=True) as saver:
        graph: Any = builder.compile(checkpointer=saver)
        for id, words in ((ID, WORDS), (STAYS, "stays")):
            graph.invoke({"messages": [HumanMessage(words)]}, {"configurable": {"thread_id": id}})
        saver.copy_thread(ID, "copied")
        saver.delete_thread("copied")
        saver.delete_thread(ID)


def delete_with_pydantic_ai(path: str) -> None:
    pytest.importorskip("pydantic_ai.conversation_store")
    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    from headish.integrations.pydantic_ai import HeadishConversationStore

    async def work() -> None:
        with HeadishConversationStore(path, erase=True) as conversations:
            for id, words in ((STAYS, "stays"), (ID, WORDS)):
                entry = ConversationEntry(
                    id=f"entry-of-{id}", parent_id=None, message=ModelRequest([UserPromptPart(words)])
                )
                record = ConversationRecord(conversation_id=id, revision="1", head_id=entry.id)
                await conversations.write_record(record, new_entries=[entry], expected_revision=None)
            await conversations.delete_record(ID, expected_revision="1")

    asyncio.run(work())


def delete_with_litellm(path: str) -> None:
    """The callback deletes nothing: the conversation that it recorded is erased as any other."""
    pytest.importorskip("litellm")
    import litellm

    from headish.integrations.litellm import HeadishLogger

    def name(call: Any) -> str:
        return ID if call["messages"][-1]["content"] == WORDS else STAYS

    with HeadishLogger(path, bookmark=name) as logger, Store.open(path) as store:
        litellm.callbacks = [logger]
        for number, words in enumerate(("stays", WORDS), 1):
            messages = [{"role": "user", "content": words}]
            litellm.completion("openai/m", messages, mock_response=f"re {words}")
            until = time.monotonic() + 60
            while store.stats().turns < 2 * number and time.monotonic() < until:
                time.sleep(0.02)  # LiteLLM tells of a call after it has answered
        litellm.callbacks = []
        store.erase(ID, scope="thread", meta=True, reason="asked for")


LOGGED = """
INSERT INTO conversations VALUES ('old-ID', 'old WORDS', 'model-WORDS');
INSERT INTO fragments VALUES (NUMBER, 'hash-WORDS-NUMBER', 'fragment WORDS', '2025-01-02', 'source-WORDS');
INSERT INTO prompt_fragments VALUES ('response-ID', NUMBER, 0);
INSERT INTO attachments VALUES ('attachment-ID', 'image/png', NULL, 'https://example.org/WORDS', NULL);
INSERT INTO prompt_attachments VALUES ('response-ID', 'attachment-ID', 0);
INSERT INTO responses VALUES ('response-ID', 'model-WORDS', 'prompt WORDS', 'system WORDS', '{"x": "WORDS"}',
  '{"stop": "WORDS"}', 'answer WORDS', '{"x": "WORDS"}', 'old-ID', 9, '2025-01-02T03:04:05', 3, 2, '{"WORDS": 1}',
  'schema-WORDS', 'resolved-WORDS', 'reasoning WORDS');
INSERT INTO tool_calls VALUES (NUMBER, 'response-ID', 1, 'tool_WORDS', '{"WORDS": "WORDS"}', 'call-ID');
INSERT INTO tool_results VALUES (NUMBER, 'response-ID', 1, 'tool_WORDS', 'WORDS', 'call-ID', NULL, NULL);
INSERT INTO messages VALUES ('hash-ID-1', NULL, 'user', '{"x": "WORDS"}'),
  ('hash-ID-2', 'hash-ID-1', 'assistant', '{"x": "WORDS"}');
INSERT INTO parts (message_hash, position, type, tool_name, text, payload) VALUES
  ('hash-ID-1', 0, 'text', NULL, 'asked WORDS', NULL),
  ('hash-ID-1', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "attachment-ID"}}'),
  ('hash-ID-2', 0, 'reasoning', NULL, 'so WORDS', NULL),
  ('hash-ID-2', 1, 'tool_call', 'tool', NULL, '{"name": "x_WORDS", "arguments": {"a": "WORDS"}, "tool_call_id": "c"}'),
  ('hash-ID-2', 2, 'from WORDS', NULL, NULL, '{"y": "WORDS"}');
INSERT INTO threads VALUES ('ID', 'WORDS', 'hash-ID-2', 'ID', '2026-01-02 03:04:05.6+00:00');
INSERT INTO turns VALUES ('turn-ID', 'ID', NULL, 'hash-ID-2', 'model-WORDS', 'resolved-WORDS', '{"stop": "WORDS"}',
  'schema-WORDS', 3, 2, '{"WORDS": 1}', 12, '2026-01-02T03:04:05+00:00', '{"x": "WORDS"}');
"""
"""A conversation in llm's log, in its older tables and in its newer ones: in each column what is asked for."""


def delete_with_llm(path: str) -> None:
    """The plugin imports llm's log; what came from it is erased by its commands, too."""

    @click.group()
    def llm() -> None:
        """Another program's command."""

    register_commands(llm)

    def run(*words: str) -> str:
        done = CliRunner().invoke(llm, ["headish", "--db", path, *words])
        assert done.exit_code == 0, done.output
        return done.output

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "logs.db"
        with closing(sqlite3.connect(log)) as connection:
            connection.executescript(test_llm.OLD + test_llm.NEW)
            for number, (id, words) in enumerate(((STAYS, "stays"), (ID, WORDS)), 1):
                said = LOGGED.replace("NUMBER", str(number)).replace("WORDS", words)
                connection.executescript(re.sub(r"\bID\b", id, said))
        run("import", str(log))
    assert WORDS in run("export", WORDS.lower(), "--to", "text")
    for name in (WORDS.lower(), f"old-{WORDS.lower()}"):
        run("erase", name, "--thread", "--meta", "--reason", "asked for", "--yes")


ADAPTERS: dict[str, Callable[[str], None]] = {
    "agents": delete_with_agents, "langchain": delete_with_langchain, "adk": delete_with_adk,
    "langgraph": delete_with_langgraph, "pydantic_ai": delete_with_pydantic_ai,
    "litellm": delete_with_litellm, "llm": delete_with_llm,
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_leaves_neither_words_nor_id(tmp_path: Path, adapter: str) -> None:
    path = tmp_path / "a.db"
    ADAPTERS[adapter](str(path))
    with Database.open(path) as database:
        database.gc(scrub=True)
    for file in tmp_path.iterdir():
        data = file.read_bytes().lower()
        assert (WORDS.lower().encode() in data, ID.lower().encode() in data) == (False, False), file
        assert STAYS.encode() in data or file.suffix != ".db"
    with Store.open(path) as store:
        with pytest.raises(UnknownBookmark):
            store.bookmarks.history(ID)
        assert not [name for name in store.bookmarks if ID in name or name.startswith("erased")]
        assert store.verify().problems == ()
