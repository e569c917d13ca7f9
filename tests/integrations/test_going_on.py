"""A framework goes on from what headish made: a branch, an edit, a conversation from elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headish import Store

pytestmark = pytest.mark.peers


def make_branch(path: Path) -> None:
    """A conversation of somebody else, and a branch of it."""
    with Store.open(path) as store:
        store.add_turn("Be brief.", role="system", bookmark="talk")
        store.add_turn("Capital of France?", continues="talk")
        call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "map"}}
        store.add_turn([{"type": "text", "text": "I look."}, call], role="assistant", continues="talk")
        result = {"type": "tool_result", "tool_use_id": "c1", "name": "look", "content": "Paris"}
        store.add_turn([result], role="tool", continues="talk")
        store.add_turn("Paris.", role="assistant", continues="talk")
        store.add_turn("And of Spain?", continues="talk~1", bookmark="branch")


def texts(path: Path, name: str) -> list[str]:
    with Store.open(path) as store:
        return [turn.text for turn in reversed(store.log(name))]


class TestPydanticAI:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("pydantic_ai.conversation_store")

    def agent(self, heard: list[Any]) -> Any:
        from pydantic_ai import Agent
        from pydantic_ai.messages import ModelResponse, TextPart
        from pydantic_ai.models.function import FunctionModel

        def answer(messages: list[Any], info: Any) -> ModelResponse:
            heard[:] = [str(part.content) for each in messages for part in each.parts if hasattr(part, "content")]
            return ModelResponse([TextPart(f"answer {len(messages)}")])

        return Agent(FunctionModel(answer))

    def run(self, path: Path, id: str, text: str) -> list[Any]:
        from pydantic_ai.conversation_store import Conversation

        from headish.integrations.pydantic_ai import HeadishConversationStore

        heard: list[Any] = []

        async def work() -> None:
            with HeadishConversationStore(path) as conversations:
                found = await conversations.load(id)
                conversation = found if found is not None else Conversation(conversation_id=id)
                result = await self.agent(heard).run(text, message_history=conversation.messages)
                conversation.messages[:] = result.all_messages()
                await conversations.save(conversation)

        asyncio.run(work())
        return heard

    def test_goes_on_from_a_branch_of_somebody_else(self, tmp_path: Path) -> None:
        from pydantic_ai.conversation_store import ConversationConflict

        from headish.errors import UnknownTurn
        from headish.integrations.pydantic_ai import HeadishConversationStore

        async def begin(id: str, headish: str) -> None:
            with HeadishConversationStore(path) as conversations:
                await conversations.begin(id, headish)

        path = tmp_path / "a.db"
        make_branch(path)
        asyncio.run(begin("mine", "branch"))
        heard = self.run(path, "mine", "Well?")
        assert heard == ["Be brief.", "Capital of France?", "I look.", "Paris", "And of Spain?", "Well?"]
        assert texts(path, "mine")[-3:-1] == ["And of Spain?", "Well?"]
        assert (texts(path, "branch")[-1], texts(path, "talk")[-1]) == ("And of Spain?", "Paris.")
        for id, headish, error in (("mine", "branch", ConversationConflict), ("other", "nothing", UnknownTurn)):
            with pytest.raises(error):
                asyncio.run(begin(id, headish))

    def test_goes_on_from_an_edit(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        self.run(path, "trip", "One?")
        with Store.open(path) as store:
            store.edit("trip~1", "Two?")
            store.add_turn(
                "Edited answer", role="assistant", continues=store.heads()[0].id, bookmark="trip", force=True
            )
        heard = self.run(path, "trip", "Three?")
        assert heard == ["Two?", "Edited answer", "Three?"]
        assert texts(path, "trip") == ["Two?", "Edited answer", "Three?", "answer 3"]


class TestADK:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("google.adk")

    def test_goes_on_from_a_branch_and_from_an_edit(self, tmp_path: Path) -> None:
        from google.adk.events.event import Event
        from google.genai.types import Content, Part

        from headish.errors import UnknownTurn
        from headish.integrations.adk import HeadishSessionService

        path = tmp_path / "a.db"
        make_branch(path)
        who: dict[str, Any] = {"app_name": "app", "user_id": "ann"}

        def said(events: list[Any]) -> list[str]:
            return [part.text for event in events for part in event.content.parts if part.text]

        async def work() -> None:
            service = HeadishSessionService(str(path))
            made = await service.begin_session(**who, headish="branch", session_id="s", state={"k": 1})
            assert said(made.events)[-1] == "And of Spain?"
            assert made.state == {"k": 1}
            event = Event(author="user", content=Content(role="user", parts=[Part(text="Well?")]))
            await service.append_event(made, event)
            with Store.open(path) as store:
                store.edit("adk/app/ann/s", "Well, well?")
            found = await service.get_session(**who, session_id="s")
            assert said(found.events)[-2:] == ["And of Spain?", "Well, well?"]
            with pytest.raises(UnknownTurn):
                await service.begin_session(**who, headish="nothing", session_id="t")
            assert await service.get_session(**who, session_id="t") is None
            await service.close()

        asyncio.run(work())
        assert texts(path, "branch")[-1] == "And of Spain?"


class TestLangGraph:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("langgraph")

    @pytest.fixture
    def graph(self) -> Any:
        from langchain_core.messages import AIMessage
        from langgraph.graph import START, MessagesState, StateGraph

        builder: Any = StateGraph(MessagesState)
        builder.add_node("answer", lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
        builder.add_edge(START, "answer")
        return builder

    def test_goes_on_from_a_branch_and_stores_no_message_again(self, tmp_path: Path, graph: Any) -> None:
        from langchain_core.messages import HumanMessage

        from headish.errors import UnknownTurn
        from headish.integrations.langgraph import HeadishSaver

        path = tmp_path / "a.db"
        make_branch(path)
        config: Any = {"configurable": {"thread_id": "mine"}}
        with HeadishSaver(path) as saver:
            compiled = graph.compile(checkpointer=saver)
            begun = saver.messages("branch", thread_id="mine")
            assert [type(each).__name__ for each in begun] == [
                "SystemMessage", "HumanMessage", "AIMessage", "ToolMessage", "HumanMessage",
            ]  # fmt: skip
            compiled.invoke({"messages": [*begun, HumanMessage("Well?")]}, config)
            compiled.invoke({"messages": [HumanMessage("More?")]}, config)
            with pytest.raises(UnknownTurn):
                saver.messages("nothing")
        with HeadishSaver(path) as saver:  # what another process reads
            state = graph.compile(checkpointer=saver).get_state(config).values["messages"]
            assert [each.text for each in state][-4:] == ["Well?", "answer 6", "More?", "answer 8"]
            assert [each.id for each in state][:5] == [each.id for each in begun]
        with Store.open(path) as store:
            assert len(list(store.turns())) == 10
            assert store.verify().problems == ()
        assert texts(path, "mine")[-5:-3] == ["And of Spain?", "Well?"]
        assert texts(path, "branch")[-1] == "And of Spain?"

    def test_gives_what_overlays_leave(self, tmp_path: Path, graph: Any) -> None:
        from headish.integrations.langgraph import HeadishSaver

        path = tmp_path / "a.db"
        make_branch(path)
        with Store.open(path) as store:
            store.summarize("branch~3", "branch~1", "He asked.")
            expected = [message.text for message in store.resolve("branch").messages]
        with HeadishSaver(path) as saver:
            begun = saver.messages("branch", thread_id="mine")
            assert [each.text for each in begun] == expected
            config: Any = {"configurable": {"thread_id": "mine"}}
            compiled = graph.compile(checkpointer=saver)
            compiled.invoke({"messages": begun}, config)
            assert [each.text for each in compiled.get_state(config).values["messages"]][:-1] == expected

    def test_says_when_it_leaves_an_edit_behind(
        self, tmp_path: Path, graph: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        from langchain_core.messages import HumanMessage

        from headish.integrations.langgraph import HeadishSaver

        path, config = tmp_path / "a.db", {"configurable": {"thread_id": "trip"}}
        with HeadishSaver(path) as saver:
            compiled: Any = graph.compile(checkpointer=saver)
            compiled.invoke({"messages": [HumanMessage("One?")]}, config)
            compiled.invoke({"messages": [HumanMessage("Two?")]}, config)
            assert caplog.records == []
            with Store.open(path) as store:
                turn = store.add_turn("By hand", continues="trip")
            compiled.invoke({"messages": [HumanMessage("Three?")]}, config)
        [record] = caplog.records
        assert "'trip'" in record.getMessage()
        assert turn.id in record.getMessage()
