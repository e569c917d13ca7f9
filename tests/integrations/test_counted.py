"""What answers used is counted, whichever adapter keeps them; what nobody reported is unknown, and not nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.adapters.messages import USAGE
from support.command import Command

TOLD = {
    "provider": "somebody", "model": "m",
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 5, "reasoning_tokens": 2},
}  # fmt: skip


def counted(store: Store, headish: str | None = None, by: str | None = None) -> list[dict[str, Any]]:
    keys = ("key", "replies", "input_tokens", "cache_read_input_tokens", "output_tokens", "reasoning_tokens")
    return [{key: each.to_dict()[key] for key in keys} for each in store.usage(headish, by=by)]


ALL = {"key": None, "replies": 1, "input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5,
       "reasoning_tokens": 2}  # fmt: skip


class TestWhatIsSaidLater:
    def test_counts_as_if_the_turn_said_so(self, store: Store) -> None:
        import msgspec

        first = store.add_turn("a", bookmark="main", role="assistant")
        store.add_turn("other", bookmark="other", role="assistant")
        store.objects.put(USAGE, first.id, msgspec.json.encode(TOLD))
        expected = {**ALL, "input_tokens": 10}
        assert counted(store, "main") == counted(store) == [expected]
        assert counted(store, "other") == [dict.fromkeys(ALL) | {"replies": 0}]
        assert counted(store, by="model") == [expected | {"key": "m"}]
        assert counted(store, by="bookmark") == [expected | {"key": "main"}]

    def test_is_not_counted_beside_what_the_turn_says(self, store: Store) -> None:
        import msgspec

        store.add_turn("q", bookmark="main")
        answer = {"role": "assistant", "content": [{"type": "text", "text": "a"}], "model": "m", "type": "message",
                  "id": "r", "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        turn = store.reply("main", "anthropic", answer)
        store.objects.put(USAGE, turn.id, msgspec.json.encode(TOLD))
        store.objects.put(USAGE, "no turn at all", b"{}")
        assert [each["output_tokens"] for each in counted(store)] == [1]

    def test_unknown_is_shown_as_unknown(self, tmp_path: Path) -> None:
        command = Command(str(tmp_path / "ours.db"))
        command("add", "a", "-b", "main", "--role", "assistant")
        assert command("usage", "main").out.splitlines()[1].split() == ["all", "0", "?", "?", "?", "?", "?"]


@pytest.mark.peers
class TestAnAdapter:
    def test_of_the_agents_sdk_counts_runs(self, tmp_path: Path) -> None:
        pytest.importorskip("agents")
        from types import SimpleNamespace as Some

        from agents.usage import Usage
        from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

        from headish.integrations.agents import HeadishSession

        async def work() -> None:
            session = HeadishSession("s", tmp_path / "a.db", erase=True)
            await session.add_items([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
            used = Usage(
                requests=1, input_tokens=10, output_tokens=5, total_tokens=15,
                input_tokens_details=InputTokensDetails.model_construct(cached_tokens=4),
                output_tokens_details=OutputTokensDetails(reasoning_tokens=2),
            )  # fmt: skip
            result: Any = Some(context_wrapper=Some(usage=used))
            await session.store_run_usage(result)
            with Store.open(tmp_path / "a.db") as store:
                assert counted(store, "s") == [ALL]
            await session.clear_session()
            session.close()

        asyncio.run(work())
        with Store.open(tmp_path / "a.db") as store:
            assert store.objects.list(USAGE) == []

    def test_of_pydantic_ai_counts_answers(self, tmp_path: Path) -> None:
        pytest.importorskip("pydantic_ai.conversation_store")
        from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
        from pydantic_ai.usage import RequestUsage

        from headish.integrations.pydantic_ai import HeadishConversationStore

        used = RequestUsage(input_tokens=10, cache_read_tokens=4, output_tokens=5, details={"reasoning_tokens": 2})
        said = [
            ModelRequest([UserPromptPart("a")]),
            ModelResponse([TextPart("b")], usage=used, model_name="m", provider_name="openai"),
            ModelResponse([TextPart("c")]),
        ]
        entries = [
            ConversationEntry(id=str(at), parent_id=str(at - 1) if at else None, message=each)
            for at, each in enumerate(said)
        ]

        async def work() -> None:
            with HeadishConversationStore(tmp_path / "a.db") as conversations:
                record = ConversationRecord(conversation_id="c", revision="1", head_id="2")
                await conversations.write_record(record, new_entries=entries, expected_revision=None)
                found = await conversations.read_history("2")
                assert [each.message for each in found] == said

        asyncio.run(work())
        with Store.open(tmp_path / "a.db") as store:
            assert [each["output_tokens"] for each in counted(store, "c")] == [5]
            assert counted(store, "c", by="model")[0] == ALL | {"key": "m"}
            assert store.verify().problems == ()

    def test_of_adk_counts_events(self, tmp_path: Path) -> None:
        pytest.importorskip("google.adk")
        from google.adk.events.event import Event
        from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part

        from headish.integrations.adk import HeadishSessionService

        used = GenerateContentResponseUsageMetadata(
            prompt_token_count=10, cached_content_token_count=4, candidates_token_count=3, thoughts_token_count=2
        )

        async def work() -> None:
            service = HeadishSessionService(str(tmp_path / "a.db"))
            made = await service.create_session(app_name="app", user_id="ann", session_id="s")
            await service.append_event(made, Event(author="user", content=Content(role="user", parts=[Part(text="a")])))
            answer = Content(role="model", parts=[Part(text="b")])
            event = Event(author="agent", content=answer, usage_metadata=used, model_version="m")
            await service.append_event(made, event)
            found = await service.get_session(app_name="app", user_id="ann", session_id="s")
            assert found is not None
            assert found.events[-1] == event
            await service.close()

        asyncio.run(work())
        with Store.open(tmp_path / "a.db") as store:
            [name] = store.bookmarks
            assert counted(store, name, by="model") == [ALL | {"key": "m"}]
