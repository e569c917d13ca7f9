"""Where calls go, and with what."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from headish.calls import ENDPOINTS, open_call
from headish.errors import CallRefused, InvalidArgument, UnknownFormat
from support.asking import BODY, EVENTS, KEY, Rerouted, ask
from support.loopback import Loopback, event_stream


class TestEndpoints:
    """The official clients, asked to do the same, post to the same place with the same key and version."""

    def sdk_calls(self, server: Loopback, opened: ExitStack) -> dict[str, list[Callable[[], Any]]]:
        import anthropic
        import cohere
        import openai
        from cerebras.cloud.sdk import Cerebras
        from google import genai

        messages: Any = [{"role": "user", "content": "hi"}]
        claude = opened.enter_context(anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0))
        gpt = opened.enter_context(openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0))
        gemini = opened.enter_context(genai.Client(api_key=KEY, http_options={"base_url": server.url}))
        command = opened.enter_context(cohere.ClientV2(api_key=KEY, base_url=server.url))
        cerebras = opened.enter_context(
            Cerebras(api_key=KEY, base_url=server.url, max_retries=0, warm_tcp_connection=False)
        )
        return {
            "anthropic": [
                lambda: claude.messages.create(model="m", max_tokens=9, messages=messages),
                lambda: claude.messages.create(model="m", max_tokens=9, messages=messages, stream=True),
            ],
            "openai": [
                lambda: gpt.chat.completions.create(model="m", messages=messages),
                lambda: gpt.chat.completions.create(model="m", messages=messages, stream=True),
            ],
            "openai_responses": [
                lambda: gpt.responses.create(model="m", input="hi"),
                lambda: gpt.responses.create(model="m", input="hi", stream=True),
            ],
            "gemini": [
                lambda: gemini.models.generate_content(model="m", contents="hi"),
                lambda: list(gemini.models.generate_content_stream(model="m", contents="hi")),
            ],
            "cohere": [
                lambda: command.chat(model="m", messages=messages),
                lambda: list(command.chat_stream(model="m", messages=messages)),
            ],
            "cerebras": [
                lambda: cerebras.chat.completions.create(model="m", messages=messages),
                lambda: cerebras.chat.completions.create(model="m", messages=messages, stream=True),
            ],
        }

    @pytest.mark.slow
    @pytest.mark.parametrize("provider", ENDPOINTS)
    def test_a_request_goes_where_the_sdk_sends_it(self, provider: str, server: Loopback) -> None:
        base_url = server.url + ("/v1" if provider.startswith("openai") else "")
        with ExitStack() as opened:
            for sdk_call, stream in zip(self.sdk_calls(server, opened)[provider], (False, True), strict=True):
                with suppress(Exception):  # The server answers 404, which each of them names in its own way.
                    sdk_call()
                with pytest.raises(CallRefused, match="404"):
                    ask(server, provider, base_url=base_url, model="m", stream=stream)
                theirs, ours = server.requests
                server.requests.clear()
                assert ours.path == theirs.path
                for header in ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type"):
                    assert ours.headers.get(header) == theirs.headers.get(header), header

    @pytest.mark.slow
    @pytest.mark.parametrize("provider", ENDPOINTS)
    def test_without_a_base_url_the_sdks_own_is_called(
        self, provider: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(ENDPOINTS[provider].key_variables[0], KEY)
        server.answer(chunks=event_stream(EVENTS))
        with open_call(provider, BODY, model="m", transport=Rerouted(server)) as call:
            assert list(call) == EVENTS
        [request] = server.requests
        assert request.headers["host"] == ENDPOINTS[provider].base_url.split("/")[2]
        assert KEY in request.headers[ENDPOINTS[provider].key_header]
        assert call.url.startswith(ENDPOINTS[provider].base_url)

    def test_a_model_stays_in_its_place_in_the_path(self, server: Loopback) -> None:
        for model, path in (
            ("gemini-2.5-pro", "models/gemini-2.5-pro"),
            ("models/x", "models/x"),
            ("tunedModels/x-1", "tunedModels/x-1"),
            ("a?b#c%2f..&d e", "models/a%3Fb%23c%252f..%26d%20e"),
            ("ü:generateContent", "models/%C3%BC%3AgenerateContent"),
        ):
            server.answer()
            ask(server, "gemini", model=model)
            assert server.requests.pop().path == f"/v1/{path}:streamGenerateContent?alt=sse"
        for model in (
            "",
            ".",
            "..",
            "models/..",
            "a/b",
            "models/a/../b",
            "tunedModels/",
            "a\\b",
            "a\nb",
            "\ud800",
            None,
        ):
            with pytest.raises(InvalidArgument):
                ask(server, "gemini", model=model)
        assert server.requests == []

    def test_an_unknown_provider_is_refused(self) -> None:
        with pytest.raises(UnknownFormat):
            open_call("nobody", BODY)
