"""Tokens of Microsoft Entra ID for Azure: asked for where there is no key, kept while they hold, never stored or told.

The credential of most tests asks a server on loopback for its tokens, in the place of azure-identity; the last class
asks the package itself.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from threading import Thread
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest

from headish.calls import open_call
from headish.calls.clouds import entra
from headish.calls.clouds.remembering import PerEnvironment
from headish.calls.remote import Remote
from headish.calls.routes import find_route
from headish.errors import CallRefused, ClockSkewed, InvalidKey, MissingKey, NoCredentials
from headish.providers.clouds import Cloud
from support.loopback import JSON, Loopback, event_stream

AZURE = Cloud("azure", resource="res")
BODY = {"model": "dep", "messages": [{"role": "user", "content": "hello"}], "stream": True}
EVENTS = [{"id": "c", "choices": []}]
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJ4In0.dG9rZW4tb2YtdGhlLXRlc3Q"
VARIABLES = ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY", "ANTHROPIC_FOUNDRY_API_KEY", "AZURE_TENANT_ID",
             "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "IDENTITY_ENDPOINT", "IDENTITY_HEADER")  # fmt: skip


@pytest.fixture
def tokens() -> Iterator[Loopback]:
    """Who gives tokens."""
    with Loopback() as server:
        yield server


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(entra, "_PROVIDERS", PerEnvironment(("AZURE_", "HOME", "IDENTITY_")))
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)


class AzureError(Exception):
    """That of azure.core."""


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch, tokens: Loopback) -> ModuleType:
    """In the place of the package: its two names, whose credential asks ``tokens``."""

    class DefaultAzureCredential:
        def get_token(self, *scopes: str) -> tuple[str, float]:
            with urlopen(f"{tokens.url}/token?resource={scopes[0]}") as answer:
                said = answer.read().decode()
            if said.startswith("!"):
                raise AzureError(said[1:])
            return said, time.time() + 3600

    def get_bearer_token_provider(credential: Any, scope: str) -> Callable[[], str]:
        kept: list[tuple[str, float]] = []

        def provide() -> str:
            if not kept or kept[-1][1] - time.time() < 300:
                kept.append(credential.get_token(scope))
            return kept[-1][0]

        return provide

    made = {name: ModuleType(name) for name in ("azure", "azure.identity", "azure.core", "azure.core.exceptions")}
    made["azure.identity"].__dict__.update(
        DefaultAzureCredential=DefaultAzureCredential, get_bearer_token_provider=get_bearer_token_provider
    )
    made["azure.core.exceptions"].__dict__["AzureError"] = AzureError
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made["azure.identity"]


def give(tokens: Loopback, said: str) -> None:
    tokens.answer(headers={"content-type": "text/plain"}, chunks=[said.encode()])


def ask(server: Loopback, provider: str = "openai", cloud: Cloud = AZURE, **settings: Any) -> list[Any]:
    with open_call(provider, BODY, model="dep", base_url=server.url, cloud=cloud, **settings) as call:
        return list(call)


class TestWithoutAKey:
    @pytest.mark.usefixtures("identity")
    def test_a_token_is_asked_for_once_and_goes_with_each_request(
        self, server: Loopback, tokens: Loopback, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        give(tokens, TOKEN)
        for _ in range(2):
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server) == EVENTS
        assert [each.headers["authorization"] for each in server.requests] == [f"Bearer {TOKEN}"] * 2
        assert "api-key" not in server.requests[0].headers
        [asked] = tokens.requests
        assert parse_qs(urlsplit(asked.path).query)["resource"] == [entra.COGNITIVE]
        assert TOKEN not in caplog.text

    @pytest.mark.usefixtures("identity")
    def test_one_that_runs_out_is_renewed(
        self, server: Loopback, tokens: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        give(tokens, TOKEN)
        give(tokens, "second")
        server.answer(chunks=event_stream(EVENTS))
        server.answer(chunks=event_stream(EVENTS))
        ask(server)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 3400)
        ask(server)
        assert [each.headers["authorization"] for each in server.requests] == [f"Bearer {TOKEN}", "Bearer second"]

    @pytest.mark.usefixtures("identity")
    def test_another_user_of_the_environment_has_another_token(
        self, server: Loopback, tokens: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("first", "second"):
            monkeypatch.setenv("AZURE_CLIENT_ID", name)
            give(tokens, name)
            server.answer(chunks=event_stream(EVENTS))
            ask(server)
        assert [each.headers["authorization"] for each in server.requests] == ["Bearer first", "Bearer second"]

    @pytest.mark.usefixtures("identity")
    def test_two_threads_ask_for_one_token(self, server: Loopback, tokens: Loopback) -> None:
        give(tokens, TOKEN)
        for _ in range(4):
            server.answer(chunks=event_stream(EVENTS))
        threads = [Thread(target=ask, args=(server,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tokens.requests) == 1
        assert {each.headers["authorization"] for each in server.requests} == {f"Bearer {TOKEN}"}

    @pytest.mark.usefixtures("identity")
    def test_a_key_that_is_set_is_sent_instead(
        self, server: Loopback, tokens: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "0123abcd")
        server.answer(chunks=event_stream(EVENTS))
        ask(server)
        assert (server.requests[0].headers["api-key"], tokens.requests) == ("0123abcd", [])

    @pytest.mark.usefixtures("identity")
    def test_a_key_that_is_named_and_missing_is_no_reason_to_send_a_token(
        self, server: Loopback, tokens: Loopback
    ) -> None:
        with pytest.raises(MissingKey, match="variable MINE"):
            ask(server, key_env="MINE")
        assert (server.requests, tokens.requests) == ([], [])

    @pytest.mark.usefixtures("identity")
    def test_what_is_asked_beside_answers_goes_with_it_too(self, server: Loopback, tokens: Loopback) -> None:
        give(tokens, TOKEN)
        server.answer_json({"id": "batch_1"})
        Remote("openai", model="dep", base_url=server.url, cloud=AZURE).get("/batches/batch_1")
        assert server.requests[0].path == "/openai/v1/batches/batch_1"
        assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"

    @pytest.mark.usefixtures("identity")
    def test_a_token_that_a_server_says_again_is_not_told(self, server: Loopback, tokens: Loopback) -> None:
        give(tokens, TOKEN)
        server.answer(401, JSON, [f'{{"error":{{"message":"bad {TOKEN}"}}}}'.encode()])
        with pytest.raises(CallRefused, match=r"bad \*\*\*$"):
            ask(server)

    def test_a_missing_package_is_named_after_the_places_of_a_key(
        self, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "azure.identity", None)
        with pytest.raises(MissingKey, match=r"AZURE_OPENAI_API_KEY, .*Microsoft Entra ID.*'headish\[azure\]'"):
            ask(server)
        assert server.requests == []


class TestWithoutCredentials:
    @pytest.mark.usefixtures("identity")
    @pytest.mark.parametrize(
        ("said", "kind", "words"),
        [
            ("Attempted credentials:\n\tEnvironmentCredential: authentication unavailable.\n\tAzureCliCredential: "
             "Azure CLI not found on path", NoCredentials, "nobody is signed in here.*; run 'az login'"),
            ("Attempted credentials:\n\tEnvironmentCredential: AADSTS7000215: Invalid client secret",
             NoCredentials, "EnvironmentCredential: AADSTS7000215: Invalid client secret; run"),
            ("AADSTS700024: Client assertion is not within its valid time range.", ClockSkewed, "set the clock"),
            ("the network is unreachable", NoCredentials, "the network is unreachable; run"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_told_in_a_sentence(
        self, server: Loopback, tokens: Loopback, said: str, kind: type[Exception], words: str
    ) -> None:
        give(tokens, f"!{said}")
        with pytest.raises(kind, match=words):
            ask(server)
        give(tokens, TOKEN)
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server) == EVENTS  # what went wrong is not remembered

    @pytest.mark.usefixtures("identity")
    def test_what_is_no_token_is_not_sent(self, server: Loopback, tokens: Loopback) -> None:
        give(tokens, "a token\r\nx-evil: 1")
        with pytest.raises(InvalidKey, match="Microsoft Entra ID"):
            ask(server)


@pytest.mark.parametrize(
    ("provider", "cloud", "base_url", "scope"),
    [
        ("openai", AZURE, None, entra.COGNITIVE),
        ("openai_responses", Cloud("azure", resource="r", api_version="2025-04-01-preview"), None, entra.COGNITIVE),
        ("openai", Cloud("azure"), "https://r.services.ai.azure.com", entra.FOUNDRY),
        ("openai", Cloud("azure", api_version="2024-10-21"), "https://r.services.ai.azure.com", entra.COGNITIVE),
        ("openai", Cloud("azure"), "https://services.ai.azure.com.example", entra.COGNITIVE),
        ("openai", Cloud("azure"), "https://r.openai.azure.us", entra.GOVERNMENT),
    ],
)
def test_a_token_is_for_the_server_s_kind(provider: str, cloud: Cloud, base_url: str | None, scope: str) -> None:
    assert entra.choose_scope(find_route(provider, model="d", cloud=cloud, base_url=base_url)) == scope


class TestThePackage:
    """azure-identity itself, as the managed identity of an App Service, whose tokens come from loopback."""

    @pytest.fixture(autouse=True)
    def installed(self, monkeypatch: pytest.MonkeyPatch, tokens: Loopback) -> None:
        pytest.importorskip("azure.identity", reason="the extra is not installed: pip install 'headish[azure]'")
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{tokens.url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "proof-of-the-machine")

    def test_its_credential_gets_a_token_once(
        self, server: Loopback, tokens: Loopback, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        until = str(int(time.time()) + 3600)
        tokens.answer_json({"access_token": TOKEN, "expires_on": until, "resource": "x", "token_type": "Bearer"})
        for _ in range(2):
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server) == EVENTS
        assert {each.headers["authorization"] for each in server.requests} == {f"Bearer {TOKEN}"}
        [asked] = tokens.requests
        assert asked.headers["x-identity-header"] == "proof-of-the-machine"
        assert parse_qs(urlsplit(asked.path).query)["resource"] == ["https://cognitiveservices.azure.com"]
        assert TOKEN not in caplog.text

    def test_what_it_says_is_told_and_not_printed(
        self, server: Loopback, tokens: Loopback, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
        monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program that handles no logging
        monkeypatch.setattr(logging.getLogger("azure.identity"), "handlers", [])
        with pytest.raises(NoCredentials, match="run 'az login'"):
            ask(server)
        assert capfd.readouterr().err == ""
