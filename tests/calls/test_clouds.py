"""Providers at a cloud: addresses, bodies, signatures and credentials, asked of servers that check what comes."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headish.calls import open_call
from headish.calls.clouds.aws import Signature
from headish.calls.routes import find_route
from headish.errors import (
    CallRefused,
    ClockSkewed,
    InvalidAddress,
    InvalidArgument,
    InvalidKey,
    MissingKey,
    NoCredentials,
)
from headish.providers.clouds import Cloud, make_cloud
from support.clouds import FRAMES, check_assertion, chunks, expected_signature, signature, write_service_account
from support.loopback import JSON, Loopback, event_stream

BEDROCK, VERTEX = Cloud("bedrock", region="us-east-1"), Cloud("vertex", region="us-east5", project="p")
AZURE = Cloud("azure", resource="res")
MODEL = "us.anthropic.claude-x-20250929-v1:0"
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "é"}], "max_tokens": 5, "stream": True}
EVENTS = [{"type": "message_start", "message": {"id": "m"}}, {"type": "message_stop"}]
ACCESS, SECRET, TOKEN = (
    "AKIDEXAMPLEEXAMPLE00",
    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "session-token/of+the-test==",
)
At = Callable[[float], None]
NOON = 1795348800.0  # 2026-11-22T12:00:00Z
WEB_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJ4In0.c2lnbmF0dXJl"

RECORDED = [
    (
        "anthropic.claude-3-5-sonnet-20241022-v2:0", False,
        "accept;content-type;host;x-amz-date;x-amz-security-token",
        "e5a56931084fc363052ef1f1a9c7592e6c14d6c16557086c1123e35b4b6fa152",
    ),
    (
        "anthropic.claude-3-5-sonnet-20241022-v2:0", True,
        "content-type;host;x-amz-date;x-amz-security-token;x-amzn-bedrock-accept",
        "c3bbec8e0747ed66f439b4135725d499641557a17739e684890f038a0dd30f97",
    ),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-x:0", False,
        "accept;content-type;host;x-amz-date;x-amz-security-token",
        "271dc7d65ac7d26172289caea500e244804b636c2158e525417ca413eb4671d6",
    ),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-x:0", True,
        "content-type;host;x-amz-date;x-amz-security-token;x-amzn-bedrock-accept",
        "ecd1451a3b04b48b8e44343ec42a100c7c4cdb5d518ece678f45309ff6331402",
    ),
]  # fmt: skip
"""What the client of botocore 1.44.5 itself sends for ``{"a":1}`` at noon of 2026-11-22, recorded that day."""


def need(package: str, extra: str) -> None:
    pytest.importorskip(package, reason=f"the extra is not installed: pip install 'headish[{extra}]'")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's credentials but those that a test sets; no machine is asked for its role."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                 "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_OPENAI_AD_TOKEN",
                 "AZURE_OPENAI_API_KEY"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    need("botocore", "bedrock")
    for name, value in (("ACCESS_KEY_ID", ACCESS), ("SECRET_ACCESS_KEY", SECRET), ("SESSION_TOKEN", TOKEN)):
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Sets the clock of this machine."""
    return lambda seconds: monkeypatch.setattr("headish.calls.clouds.aws.now", lambda: seconds)


def ask(server: Loopback, cloud: Cloud, provider: str = "anthropic", **settings: Any) -> list[Any]:
    given = {"model": MODEL, "base_url": server.url, "cloud": cloud, **settings}
    with open_call(provider, BODY, **given) as call:
        return list(call)


class TestAddresses:
    @pytest.mark.parametrize(
        ("provider", "cloud", "model", "url"),
        [
            ("anthropic", BEDROCK, "a.b-v1:0",
             "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/invoke-with-response-stream"),
            ("anthropic", Cloud("bedrock", region="cn-north-1"), "a/b:1",
             "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/a%2Fb%3A1/invoke-with-response-stream"),
            ("anthropic", VERTEX, "claude-x@20250929",
             "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/"
             "claude-x@20250929:streamRawPredict"),
            ("anthropic", Cloud("vertex", region="global", project="p"), "c;d",
             "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic/models/"
             "c%3Bd:streamRawPredict"),
            ("gemini", Cloud("vertex", region="eu", project="example.com:p"), "models/gemini-3",
             "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/example.com:p/locations/eu/publishers/google/"
             "models/gemini-3:streamGenerateContent?alt=sse"),
            ("openai", AZURE, "dep", "https://res.openai.azure.com/openai/v1/chat/completions"),
            ("openai", Cloud("azure", resource="res", api_version="2024-10-21"), "my dep",
             "https://res.openai.azure.com/openai/deployments/my%20dep/chat/completions?api-version=2024-10-21"),
            ("openai_responses", Cloud("azure", resource="res", api_version="preview"), "dep",
             "https://res.openai.azure.com/openai/v1/responses?api-version=preview"),
            ("anthropic", AZURE, "my dep", "https://res.services.ai.azure.com/anthropic/v1/messages"),
            ("openai_responses", Cloud("azure", resource="res", api_version="2025-04-01-preview"), "dep",
             "https://res.openai.azure.com/openai/responses?api-version=2025-04-01-preview"),
        ],
    )  # fmt: skip
    def test_each_cloud_has_its_own(self, provider: str, cloud: Cloud, model: str, url: str) -> None:
        assert find_route(provider, model=model, cloud=cloud).url == url

    @pytest.mark.parametrize("given", ["https://x.y", "https://x.y/", "https://x.y/openai/v1/", "https://x.y/openai"])
    def test_an_endpoint_may_be_given_as_azure_shows_it(self, given: str) -> None:
        route = find_route("openai", model="d", base_url=given, cloud=Cloud("azure"))
        assert route.url == "https://x.y/openai/v1/chat/completions"

    @pytest.mark.parametrize("given", ["", "/", "/anthropic", "/anthropic/", "/anthropic/v1", "/anthropic/v1/messages"])
    def test_one_of_foundry_may_be_given_as_any_page_shows_it(self, given: str) -> None:
        route = find_route("anthropic", model="d", base_url=f"https://x.y{given}", cloud=Cloud("azure"))
        assert route.url == "https://x.y/anthropic/v1/messages"

    @pytest.mark.parametrize("model", [None, "", ".", "..", "..;x", "a\nb"])
    def test_a_model_cannot_leave_its_place(self, model: str | None) -> None:
        with pytest.raises(InvalidArgument, match="model"):
            find_route("anthropic", model=model, cloud=BEDROCK)

    @pytest.mark.parametrize(
        ("provider", "name", "said", "words"),
        [
            ("openai", "bedrock", {"region": "us-east-1"}, "serves anthropic here, not openai"),
            ("anthropic", "bedrock", {}, "needs a region"),
            ("anthropic", "vertex", {"region": "eu"}, "needs a project"),
            ("anthropic", "vertex", {"region": "eu/../x", "project": "p"}, "cannot be the region"),
            ("anthropic", "bedrock", {"region": "us-east-1", "project": "p"}, "has no project"),
            ("openai", "azure", {"resource": "evil.example/"}, "cannot be the resource"),
            ("openai", "azure", {}, "needs a resource"),
            ("anthropic", "azure", {"resource": "r", "api_version": "2024-10-21"}, "have no api_version"),
            ("gemini", "azure", {"resource": "r"}, "serves openai or openai_responses or anthropic here, not gemini"),
            ("openai", "aws", {}, "one of bedrock, vertex, azure"),
            ("openai", None, {"region": "eu"}, "belongs to a cloud"),
        ],
    )
    def test_what_is_said_of_a_cloud_is_checked(
        self, provider: str, name: str | None, said: dict[str, str | None], words: str
    ) -> None:
        with pytest.raises(InvalidArgument, match=words):
            make_cloud(provider, name, None, said)


class TestBedrock:
    @pytest.mark.parametrize(("model", "stream", "names", "wanted"), RECORDED)
    def test_a_signature_is_that_of_botocore_s_own_client(
        self, model: str, stream: bool, names: str, wanted: str, at: At
    ) -> None:
        need("botocore", "bedrock")
        credentials = SimpleNamespace(access_key=ACCESS, secret_key=SECRET, token=TOKEN)
        url = find_route("anthropic", model=model, cloud=BEDROCK, stream=stream).url
        kind = "x-amzn-bedrock-accept" if stream else "accept"
        headers = {kind: "application/json", "content-type": "application/json", "user-agent": "x"}
        at(NOON)
        signed = Signature("anthropic", credentials, "us-east-1").sign("POST", url, headers, b'{"a":1}')
        assert signed == {
            "x-amz-date": "20261122T120000Z",
            "x-amz-security-token": TOKEN,
            "authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS}/20261122/us-east-1/bedrock/aws4_request, "
            f"SignedHeaders={names}, Signature={wanted}",
        }

    @pytest.mark.usefixtures("amazon")
    @pytest.mark.parametrize("model", [MODEL, "arn:aws:bedrock:us-east-1:1:inference-profile/us.a:0", "é b+c~d%41"])
    def test_a_server_that_checks_the_signature_takes_the_request(self, server: Loopback, model: str) -> None:
        server.answer(headers=FRAMES, chunks=chunks(EVENTS))
        assert ask(server, BEDROCK, model=model, headers={"anthropic-beta": "one, two"}) == EVENTS
        [request] = server.requests
        raw = json.dumps(request.body, separators=(",", ":"), ensure_ascii=False).encode()
        assert signature(request) == expected_signature(request, raw, SECRET)
        assert request.body == {
            "anthropic_version": "2026-10-21", "messages": BODY["messages"], "max_tokens": 5,
            "anthropic_beta": ["one", "two"],
        }  # fmt: skip
        assert "anthropic-version" not in request.headers
        assert ":" not in request.path

    @pytest.mark.usefixtures("amazon")
    def test_each_attempt_is_signed_anew(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.calls.clouds.aws.now", lambda: NOON + 7 * len(server.requests))
        server.answer_json({"message": "Too many requests"}, 429)
        server.answer(headers=FRAMES, chunks=chunks(EVENTS))
        assert ask(server, BEDROCK) == EVENTS
        dates = [request.headers["x-amz-date"] for request in server.requests]
        assert dates == ["20261122T120000Z", "20261122T120007Z"]
        assert len({signature(request) for request in server.requests}) == 2

    @pytest.mark.usefixtures("amazon")
    @pytest.mark.parametrize(("behind", "words"), [(660, "behind"), (-660, "ahead of")])
    def test_a_wrong_clock_is_named(self, server: Loopback, behind: int, words: str, at: At) -> None:
        at(NOON)
        answer = b'{"message":"Signature expired: 20261122T120000Z is now earlier than 20261122T120600Z"}'
        head = f"HTTP/1.1 403 Forbidden\r\nDate: {formatdate(NOON + behind, usegmt=True)}\r\n"
        kind = "x-amzn-ErrorType: InvalidSignatureException:http://x\r\nContent-Type: application/json\r\n"
        server.answer_raw([f"{head}{kind}Content-Length: {len(answer)}\r\n\r\n".encode(), answer])
        with pytest.raises(ClockSkewed, match=f"660 s {words} the server's; set the clock") as raised:
            ask(server, BEDROCK)
        assert raised.value.behind_seconds == behind

    @pytest.mark.usefixtures("amazon")
    def test_nothing_secret_is_told_or_logged(self, server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        server.answer_json({"message": f"The Canonical String was x-amz-security-token:{TOKEN} {SECRET} {ACCESS}"}, 403)
        with pytest.raises(CallRefused) as raised:
            ask(server, BEDROCK)
        told = f"{raised.value!r} {raised.value} {caplog.text}"
        assert not any(each in told for each in (SECRET, TOKEN, ACCESS))

    def test_a_bedrock_key_needs_no_botocore(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key-0123")
        server.answer(headers=FRAMES, chunks=chunks(EVENTS))
        assert ask(server, BEDROCK) == EVENTS
        assert server.requests[0].headers["authorization"] == "Bearer bedrock-key-0123"
        with pytest.raises(InvalidArgument, match=r"pip install 'headish\[bedrock\]'"):
            ask(server, Cloud("bedrock", region="us-east-1", profile="work"))

    def test_who_has_no_credentials_is_told_what_to_do(self, server: Loopback) -> None:
        need("botocore", "bedrock")
        with pytest.raises(NoCredentials, match=r"AWS has none for this user; set AWS_ACCESS_KEY_ID"):
            ask(server, BEDROCK)
        with pytest.raises(NoCredentials, match=r"profile .*work.* could not be found"):
            ask(server, Cloud("bedrock", region="us-east-1", profile="work"))
        assert server.requests == []

    @pytest.mark.usefixtures("amazon")
    def test_a_profile_is_asked_before_a_key_of_the_environment(
        self, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".aws").mkdir()
        lines = ["[work]", "aws_access_key_id=WORK", f"aws_secret_access_key={SECRET[::-1]}"]
        (tmp_path / ".aws" / "credentials").write_text("\n".join(lines), "utf-8")
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key-0123")
        server.answer_json({"type": "message", "content": []})
        ask(server, Cloud("bedrock", region="us-east-1", profile="work"), stream=False)
        [request] = server.requests
        raw = json.dumps(request.body, separators=(",", ":"), ensure_ascii=False).encode()
        assert "Credential=WORK/" in request.headers["authorization"]
        assert signature(request) == expected_signature(request, raw, SECRET[::-1])
        assert request.path == f"/model/{MODEL.replace(':', '%3A')}/invoke"

    @pytest.mark.usefixtures("amazon")
    def test_nothing_is_signed_for_where_it_could_be_read(self) -> None:
        with (
            pytest.raises(InvalidAddress, match="unencrypted"),
            open_call("anthropic", BODY, model=MODEL, cloud=BEDROCK, base_url="http://192.0.2.1"),
        ):
            pass


class TestVertex:
    @pytest.fixture
    def public(self, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        need("google.auth", "vertex")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        return write_service_account(tmp_path / "account.json", f"{server.url}/token")

    def test_a_service_account_gets_a_token_once_and_asks_with_it(
        self, server: Loopback, public: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        server.answer_json({"access_token": "ya29.token-of-the-test", "expires_in": 3600, "token_type": "Bearer"})
        server.answer(chunks=event_stream(EVENTS))
        server.answer(chunks=event_stream([{"candidates": []}]))
        assert ask(server, VERTEX, model="claude-x@1") == EVENTS
        assert ask(server, VERTEX, "gemini", model="gemini-3") == [{"candidates": []}]
        token, claude, gemini = server.requests
        assert check_assertion(token, public)["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        assert {claude.headers["authorization"], gemini.headers["authorization"]} == {"Bearer ya29.token-of-the-test"}
        folder = "projects/p/locations/us-east5/publishers"
        assert claude.path == f"/v1/{folder}/anthropic/models/claude-x@1:streamRawPredict"
        assert claude.body == {
            "anthropic_version": "2026-10-21", "messages": BODY["messages"], "max_tokens": 5, "stream": True
        }  # fmt: skip
        assert gemini.path == f"/v1beta1/{folder}/google/models/gemini-3:streamGenerateContent?alt=sse"
        assert "x-goog-api-key" not in gemini.headers
        assert "ya29.token" not in caplog.text

    def test_a_wrong_clock_is_named(self, server: Loopback, public: Any) -> None:
        words = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
        server.answer_json({"error": "invalid_grant", "error_description": words}, 400)
        with pytest.raises(ClockSkewed, match="Vertex AI refuses the signature: the clock of this machine is wrong"):
            ask(server, VERTEX)

    def test_a_token_that_is_refused_is_told(self, server: Loopback, public: Any) -> None:
        server.answer_json({"error": "invalid_grant", "error_description": "account not found"}, 400)
        with pytest.raises(NoCredentials, match=r"account not found.*gcloud auth application-default login"):
            ask(server, VERTEX)

    def test_who_has_no_credentials_is_told_what_to_do(self, server: Loopback) -> None:
        need("google.auth", "vertex")
        with pytest.raises(NoCredentials, match=r"no credentials for Vertex AI"):
            ask(server, VERTEX)

    def test_a_missing_extra_is_named(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "google.auth", None)
        with pytest.raises(InvalidArgument, match=r"pip install 'headish\[vertex\]'"):
            ask(server, VERTEX)

    def test_a_token_may_be_named(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GATEWAY_TOKEN", "token-of-the-gateway")
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server, VERTEX, key_env="GATEWAY_TOKEN") == EVENTS
        assert server.requests[0].headers["authorization"] == "Bearer token-of-the-gateway"


class TestAzure:
    @pytest.mark.parametrize(
        ("variables", "key_env", "header", "value"),
        [
            ({"AZURE_OPENAI_API_KEY": "0123abcd"}, None, "api-key", "0123abcd"),
            ({"AZURE_OPENAI_API_KEY": "0123abcd", "AZURE_OPENAI_AD_TOKEN": "t"}, None, "authorization", "Bearer t"),
            ({"MINE": "4567abcd", "AZURE_OPENAI_AD_TOKEN": "t"}, "MINE", "api-key", "4567abcd"),
            ({"MINE": WEB_TOKEN}, "MINE", "authorization", f"Bearer {WEB_TOKEN}"),
        ],
    )
    def test_a_key_and_a_token_have_their_own_headers(
        self, server: Loopback, variables: dict[str, str], key_env: str | None, header: str, value: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        for name, said in variables.items():
            monkeypatch.setenv(name, said)
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server, AZURE, "openai", key_env=key_env) == EVENTS
        [request] = server.requests
        assert {key: said for key, said in request.headers.items() if key in ("api-key", "authorization")} == {
            header: value
        }
        assert request.body == BODY

    def test_who_has_no_key_is_told_where_it_was_looked_for(
        self, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "azure.identity", None)
        with pytest.raises(MissingKey, match=r"AZURE_OPENAI_AD_TOKEN, .*AZURE_OPENAI_API_KEY, .*keyring"):
            ask(server, AZURE, "openai")

    def test_a_key_is_kept_out_of_a_refusal(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "0123456789abcdef")
        server.answer(401, JSON, [b'{"error":{"message":"bad key 0123456789abcdef"}}'])
        with pytest.raises(CallRefused, match=r"bad key \*\*\*$"):
            ask(server, AZURE, "openai")
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "line\nfeed")
        with pytest.raises(InvalidKey):
            ask(server, AZURE, "openai")
