"""What the requests of openai, cerebras and cohere promise alike: one suite, run for each of them.

A provider's test module subclasses it and says what is its own: the rules of its API, its SDK's types, and how its SDK
asks.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import ContextWindow
from headish.errors import Unsupported
from headish.providers import Request, prepare_request
from headish.providers.shared.ledger import INTERRUPTED
from support.loopback import Loopback
from support.providers.chat_windows import CLOCK, MODES, SHARED_WINDOWS, WEATHER, own_reasoning, own_windows
from support.providers.emitted import windows

CASES = Path(__file__).parents[2] / "providers" / "cases"
TOOLS = [WEATHER, CLOCK]
DONE = b"data: [DONE]\n\n"
ALLOWED = (
    "text of a tool", "a tool call of role", "without a message", "a document", "an empty document", "not base64",
    "not UTF-8", "reasoning of role", "a block of its own", "a block of type", "images: ",
)  # fmt: skip


def request(provider: str, messages: list[dict[str, Any]], options: Any = None, **settings: Any) -> Request:
    """The request of a window's JSON."""
    return prepare_request(provider, {"messages": messages, "options": options or {}}, **settings)


def sent(provider: str, messages: list[dict[str, Any]], **settings: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The messages of a request, and its notes."""
    prepared = request(provider, messages, **settings)
    return prepared.body["messages"], [note.what for note in prepared.notes]


class ChatRequests:
    """Requests: valid by the API's rules and the SDK's types, sent by the SDK as they are, and stable."""

    provider: ClassVar[str]
    check: ClassVar[Callable[[dict[str, Any]], None]]
    validate: ClassVar[Callable[[dict[str, Any]], None]]
    """Raises where the SDK's own types do not take the body."""
    ask: ClassVar[Callable[[str, dict[str, Any]], None]]
    """Asks the server at a URL through the SDK's client, reading the answer to its end."""

    def bodies(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """Requests of the windows by hand, with tools and without, whole and streamed; named."""
        for name, messages in {**SHARED_WINDOWS, **own_reasoning(self.provider)}.items():
            for settings in ({"model": "m"}, {"model": "m", "stream": False, "tools": TOOLS, "max_tokens": 9}):
                yield name, request(self.provider, messages, **settings).body
        for mode in MODES:
            if (self.provider, mode) not in (("cohere", "weather"), ("cohere", "functions.clock")):
                plain = SHARED_WINDOWS["plain"]
                yield f"mode {mode}", request(self.provider, plain, {"tool_mode": mode}, model="m", tools=TOOLS).body

    @given(data=st.data())
    def test_any_window_is_a_valid_request_or_is_refused(self, data: st.DataObject) -> None:
        window = data.draw(windows() | own_windows(self.provider))
        before = copy.deepcopy(window)
        settings = data.draw(st.sampled_from([{}, {"cache_breakpoints": True}, {"stream": False, "tools": TOOLS}]))
        try:
            prepared = prepare_request(self.provider, window, **settings)
        except Unsupported as error:
            assert any(reason in str(error) for reason in ALLOWED), str(error)
            return
        type(self).check(prepared.body)
        type(self).validate(prepared.body | {"model": "m"})
        assert window == before
        assert prepare_request(self.provider, window, **settings) == prepared
        assert json.loads(json.dumps(prepared.body)) == prepared.body

    @given(data=st.data())
    def test_what_was_emitted_is_the_beginning_of_what_is_emitted_later(self, data: st.DataObject) -> None:
        """The prompt cache's condition; an interrupted call whose result comes after all is a permitted break."""
        window = data.draw(windows(odd_too=False) | own_windows(self.provider))
        settings = data.draw(st.sampled_from([{}, {"cache_breakpoints": True}]))
        bodies = [self._messages(window, count, settings) for count in range(1, len(window.messages) + 1)]
        for earlier, later in pairwise(bodies):
            if earlier is not None and later is not None and not any(INTERRUPTED in each for each in earlier):
                assert later[: len(earlier)] == earlier

    def _messages(self, window: ContextWindow, count: int, settings: Any) -> list[str] | None:
        """The messages of a window's beginning, as text, less the cache marks."""
        try:
            body = prepare_request(self.provider, ContextWindow(window.messages[:count], {}), **settings).body
        except Unsupported:
            return None
        for message in body["messages"]:
            for part in message["content"] if isinstance(message.get("content"), list) else []:
                part.pop("prompt_cache_breakpoint", None)
        return [json.dumps(message) for message in body["messages"]]

    def test_every_window_by_hand_fits_the_rules_and_the_types_of_the_sdk(self) -> None:
        for name, body in self.bodies():
            try:
                type(self).check(body)
                type(self).validate(body)
            except Exception as error:
                raise AssertionError(f"{name}: {body}") from error

    def test_the_types_of_the_sdk_refuse_what_is_wrong(self) -> None:
        body = request(self.provider, SHARED_WINDOWS["one call"], model="m", tools=TOOLS).body
        broken: list[dict[str, Any]] = [copy.deepcopy(body) for _ in range(4)]
        broken[0]["surprise"] = 1
        broken[1]["messages"][0]["surprise"] = 1
        broken[2]["messages"][1]["tool_calls"][0]["function"]["arguments"] = {}
        del broken[3]["messages"][2]["tool_call_id"]
        for each in broken:
            with pytest.raises((ValueError, TypeError)):
                type(self).validate(each)

    @pytest.mark.slow
    def test_the_client_of_the_sdk_sends_the_body_as_it_is(self) -> None:
        with Loopback() as server:
            for name, body in self.bodies():
                server.answer(chunks=[DONE]) if body["stream"] else server.answer_json(self.whole())
                type(self).ask(server.url, body)
                assert server.requests[-1].body == body, name

    def whole(self) -> dict[str, Any]:
        """A whole response that the SDK takes."""
        found: dict[str, Any] = json.loads((CASES / self.provider / "text" / "response.json").read_text())
        return found
