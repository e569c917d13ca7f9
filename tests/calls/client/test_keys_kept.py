"""Keys stay where they belong: neither another address nor an error sees one."""

from __future__ import annotations

import logging

import pytest

from headish.calls import ENDPOINTS, open_call
from headish.errors import CallError, CallRefused, InvalidAddress, InvalidReply, MissingKey, Unreachable
from support.asking import BODY, EVENTS, HTML, KEY, Rerouted, ask
from support.loopback import Loopback, Request, event_stream


class TestKeysStayWhereTheyBelong:
    def test_a_usual_key_is_not_sent_to_another_address(
        self, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for provider, endpoint in ENDPOINTS.items():
            for variable in endpoint.key_variables:
                monkeypatch.setenv(variable, KEY)
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server, provider, key_env=None, model="m") == EVENTS
            assert holds_no_key(server.requests.pop())

    def test_no_error_no_log_and_no_repr_shows_a_key(self, server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        shown = []
        quoted = KEY.replace("+", "%2B").replace("/", "%2F")
        server.answer_json({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401)
        server.answer(403, HTML, [f"<b>{KEY}</b>{quoted}".encode()])
        server.answer(302, {"location": f"https://example.com/?from={quoted}"})
        server.answer(headers={"content-type": f"text/{KEY}"}, chunks=[KEY.encode()])
        server.answer_raw([f"HTTP/1.1 200 {KEY}\r\n{KEY}\r\n\r\n".encode()])
        for _ in range(5):
            with pytest.raises(CallError) as caught:
                ask(server, attempts=1)
            assert KEY in server.requests.pop().headers["authorization"]
            shown += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
        assert "***" in shown[0]
        server.answer(chunks=[b'data: {"a": "' + KEY.encode() + b"\n\n"])
        with open_call("openai", BODY, base_url=server.url, key_env="TEST_KEY") as call:
            shown += [repr(call), repr(vars(call))]
            with pytest.raises(InvalidReply) as broken:
                list(call)
        shown.append(str(broken.value))
        assert not [text for text in shown if KEY in text or quoted in text or "very-secret" in text]

    def test_a_key_among_the_callers_headers_is_a_key(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("Authorization", "x-api-key", "Cookie"):
            server.answer_json({"error": {"message": f"not {KEY} Bearer {KEY}"}}, 401)
            with pytest.raises(CallRefused) as caught:
                ask(server, key_env=None, headers={name: f"Bearer {KEY}"})
            assert KEY not in str(caught.value)
            with pytest.raises(InvalidAddress, match="unencrypted"):
                open_call("openai", BODY, base_url="http://example.com/v1", headers={name: KEY})
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        server.answer(chunks=event_stream(EVENTS))
        with open_call("openai", BODY, headers={"authorization": "Basic x"}, transport=Rerouted(server)) as call:
            assert list(call) == EVENTS
        assert server.requests[-1].headers["authorization"] == "Basic x"

    def test_a_missing_key_asks_nobody(self, server: Loopback) -> None:
        with pytest.raises(MissingKey, match="NO_SUCH_VARIABLE"):
            ask(server, key_env="NO_SUCH_VARIABLE")
        assert server.requests == []

    def test_what_goes_to_this_machine_passes_no_proxy(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        with Loopback() as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            for name in ("no_proxy", "NO_PROXY"):
                monkeypatch.delenv(name, raising=False)
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server) == EVENTS
            assert proxy.requests == []
            proxy.answer(chunks=event_stream(EVENTS))
            with open_call("openai", BODY, base_url="http://model.invalid/v1") as call:
                assert list(call) == EVENTS
            assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"

    def test_a_proxy_that_cannot_be_used_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "gopher://me:hunter2@127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(Unreachable, match="the proxy cannot be used") as caught:
            open_call("openai", BODY, base_url="http://model.invalid/v1")
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("host", ["999.1.1.1", "[:::::]"])
    def test_a_number_that_is_no_address_is_refused(self, host: str) -> None:
        with pytest.raises(InvalidAddress):
            open_call("openai", BODY, base_url=f"https://{host}/v1")


def holds_no_key(request: Request) -> bool:
    return KEY not in request.path and not any(KEY in value for value in request.headers.values())
