"""Anthropic's models at Microsoft Foundry: a tool loop with thinking, streamed, and what a pointer to its host says."""

from __future__ import annotations

import sys

import pytest

from headish import Store
from headish.errors import CallRefused, InvalidArgument, MissingKey
from headish.providers.clouds import Cloud
from headish.providers.pointers import make_pointer
from headish.values.blocks import Text, Thinking, ToolResult, ToolUse
from support.insides import dump
from support.loopback import Loopback, event_stream
from support.providers.azure import FoundryClaude

KEY, TOKEN = "0123456789abcdef0123456789abcdef", "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJ4In0.c2lnbmF0dXJl"
TOOL = {"name": "height", "inputSchema": {"type": "object", "properties": {"peak": {"type": "string"}}}}
HOST = "https://res.services.ai.azure.com"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY", "ANTHROPIC_FOUNDRY_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("variable", "secret"), [("ANTHROPIC_FOUNDRY_API_KEY", KEY), ("MINE", TOKEN), ("MINE", KEY)])
def test_a_tool_loop_with_thinking_is_streamed(
    everywhere: Store, variable: str, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, secret)
    said = {"token": secret} if secret == TOKEN else {"key": secret}
    with FoundryClaude(deployment="my-claude", **said) as claude:
        named = {"key_env": variable} if variable == "MINE" else {}
        everywhere.pointers.set("fo", "anthropic/my-claude", cloud="azure", base_url=claude.url, **named)
        asked = {"ptr": "fo", "tools": [TOOL], "params": {"anthropic": {"thinking": {"type": "adaptive"}}}}
        shown: list[str] = []
        everywhere.ask("How high is K2?", bookmark="main", on_delta=lambda each: shown.append(each.content), **asked)
        everywhere.run_tools("main", lambda calls: [ToolResult(call.id, call.name, (Text("8611"),)) for call in calls])
        everywhere.ask(continues="main", on_delta=lambda each: shown.append(each.content), **asked)
    assert everywhere.text("main") == "K2 is 8611 m high."
    assert "".join(shown).startswith("A height. I look it up.")
    blocks = [block for turn in everywhere.thread("main") for block in everywhere.blocks(turn.id)]
    assert [block.input for block in blocks if isinstance(block, ToolUse)] == [{"peak": "K2"}]
    assert [block.signature for block in blocks if isinstance(block, Thinking)] == ["c2lnbmF0dXJl"]
    first, second = (request.body for request in claude.requests)
    assert first["thinking"] == {"type": "adaptive"}
    assert second["messages"][1]["content"] == [claude.thought, claude.call]
    assert second["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"
    assert secret not in str(dump(everywhere))


def test_a_deployment_that_is_not_there_is_told(asking: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_API_KEY", KEY)
    with FoundryClaude(deployment="my-claude", key=KEY) as claude:
        asking.pointers.set("fo", "anthropic/claude-x", cloud="azure", base_url=claude.url)
        with pytest.raises(CallRefused, match="deployment for this resource does not exist"):
            asking.ask("hello", ptr="fo")


class TestTheHost:
    @pytest.mark.parametrize("path", ["", "/", "/anthropic", "/anthropic/v1/messages"])
    def test_a_pointer_to_it_has_the_cloud(self, asking: Store, path: str) -> None:
        pointer = asking.pointers.set("fo", "anthropic/my-claude", base_url=f"{HOST}{path}")
        assert asking.pointers["fo"].cloud == Cloud("azure")
        assert pointer is not None
        assert asking.pointers.url("fo", stream=True) == f"{HOST}/anthropic/v1/messages"

    @pytest.mark.parametrize(
        ("target", "base_url"),
        [
            ("anthropic/x", "https://services.ai.azure.com.evil.example/anthropic"),
            ("anthropic/x", "https://services.ai.azure.com"),
            ("anthropic/x", "https://evilservices.ai.azure.com"),
            ("openai/x", HOST),
        ],
    )
    def test_another_host_or_provider_has_none(self, target: str, base_url: str) -> None:
        assert make_pointer(target, base_url=base_url).cloud is None

    def test_another_cloud_that_is_named_stays(self) -> None:
        pointer = make_pointer("anthropic/x", base_url=HOST, cloud="vertex", region="eu", project="p")
        assert pointer.cloud == Cloud("vertex", region="eu", project="p")

    def test_the_keys_of_anthropic_itself_never_go_there(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """``ANTHROPIC_API_KEY`` is set, and so is a key of another service of Azure's."""
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        monkeypatch.setitem(sys.modules, "azure.identity", None)
        asking.pointers.set("fo", "anthropic/my-claude", cloud="azure", base_url=server.url)
        with pytest.raises(MissingKey, match=r"ANTHROPIC_FOUNDRY_API_KEY, .*'headish\[azure\]'"):
            asking.ask("hello", ptr="fo")
        assert server.requests == []

    def test_a_header_of_the_call_stands_for_the_key(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("fo", "anthropic/my-claude", cloud="azure", base_url=server.url)
        for name in ("x-api-key", "api-key"):
            server.answer(chunks=event_stream([{"type": "message_stop"}]))
            asking.ask("hello", ptr="fo", headers={name: KEY})
            sent = server.requests[-1].headers
            assert [each for each in ("x-api-key", "api-key", "authorization") if each in sent] == [name]
        assert KEY not in str(dump(asking))

    def test_it_has_no_batches(self, asking: Store) -> None:
        asking.pointers.set("fo", "anthropic/my-claude", base_url=HOST)
        asking.add_turn("a?", bookmark="a")
        with pytest.raises(InvalidArgument, match=r"no batches at Microsoft Azure: Foundry has none for .* anthropic"):
            asking.batches.create(["a"], ptr="fo")


def test_a_call_to_its_host_without_a_pointer_goes_there_as_one_with_it(
    asking: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is looked for where Foundry's are; the provider's own never leaves for it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-own")
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(MissingKey, match="variable ANTHROPIC_FOUNDRY_API_KEY,"):
        asking.ask("hello", to="anthropic", model="my-claude", base_url=f"{HOST}/anthropic")
