"""The address of each provider at each cloud, and the differences between the cloud's requests and the provider's own.

Sources, read 2026-11-22: anthropic 2.12.0 ``lib/bedrock/_client.py``, ``lib/vertex/_client.py``, ``lib/foundry.py``;
google-genai 3.4.0 ``_api_client.py``, ``_transformers.t_model``; openai 3.54.0 ``lib/azure.py``; botocore 1.44.5,
service ``bedrock-runtime``; "Azure OpenAI in Microsoft Foundry Models v1 API",
https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from headish.errors import InvalidArgument
from headish.providers.clouds import TITLES, Cloud

ANTHROPIC_VERSION = "2026-10-21"
"""The version that Anthropic's SDK sends to the clouds: to Azure as a header, to the others in the body."""
_MULTI_REGIONS = frozenset({"us", "eu"})

Body = Mapping[str, Any]
Dressed = tuple[dict[str, Any], dict[str, str]]


class CloudPlace(NamedTuple):
    """A provider at a cloud. ``base_url`` gives its usual address, ``path`` the path after that; ``dress`` writes the
    body and headers as the cloud wants them. ``key_header`` is the header for a key."""

    base_url: Callable[[Cloud], str]
    path: Callable[[Cloud, str | None, bool], str]
    dress: Callable[[Body, Mapping[str, str]], Dressed]
    key_header: str = "authorization"
    endings: tuple[str, ...] = ()
    """Possible ends of a ``base_url`` that was copied from the cloud's own pages, with which ``path`` begins again."""
    beside: Callable[[Cloud], tuple[str, str]] | None = None
    """The address of its other resources (files, batches, stored answers): the text before their path, and the query
    after it. None if headish asks for none of them there."""


def find_place(cloud: Cloud, provider: str) -> CloudPlace:
    """The place of a provider at a cloud. Raises: InvalidArgument."""
    place = PLACES.get((cloud.name, provider))
    if place is None:
        raise InvalidArgument(f"{TITLES.get(cloud.name, cloud.name)} serves no model of {provider} here")
    return place


def _bedrock_url(cloud: Cloud) -> str:
    domain = "amazonaws.com.cn" if cloud.region and cloud.region.startswith("cn-") else "amazonaws.com"
    return f"https://bedrock-runtime.{cloud.region}.{domain}"


def _bedrock_path(_cloud: Cloud, model: str | None, stream: bool) -> str:
    # Quoted once, including the slashes of an ARN: the signature covers the path as it is sent.
    return f"/model/{_quote_model(model)}/{'invoke-with-response-stream' if stream else 'invoke'}"


def _vertex_url(cloud: Cloud) -> str:
    if cloud.region == "global":
        return "https://aiplatform.googleapis.com"
    if cloud.region in _MULTI_REGIONS:
        return f"https://aiplatform.{cloud.region}.rep.googleapis.com"
    return f"https://{cloud.region}-aiplatform.googleapis.com"


def _vertex_claude_path(cloud: Cloud, model: str | None, stream: bool) -> str:
    verb = "streamRawPredict" if stream else "rawPredict"
    return f"/v1/{_vertex_folder(cloud)}/publishers/anthropic/models/{_quote_model(model, '@')}:{verb}"


def _vertex_gemini_path(cloud: Cloud, model: str | None, stream: bool) -> str:
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    name = _quote_model(model.removeprefix("models/") if model else None, "@")
    return f"/v1beta1/{_vertex_folder(cloud)}/publishers/google/models/{name}:{verb}"


def _vertex_folder(cloud: Cloud) -> str:
    return f"projects/{quote(cloud.project or '', safe=':')}/locations/{cloud.region}"


def _azure_url(cloud: Cloud, host: str = "openai.azure.com") -> str:
    if cloud.resource is None:
        raise InvalidArgument(f"{TITLES['azure']} needs a resource, or base_url with the endpoint")
    return f"https://{cloud.resource.lower()}.{host}"


def _azure_chat_path(cloud: Cloud, model: str | None, _stream: bool) -> str:
    if is_dated(cloud.api_version):
        return f"/openai/deployments/{_quote_model(model)}/chat/completions?api-version={cloud.api_version}"
    return f"/openai/v1/chat/completions{_azure_query(cloud)}"


def _azure_responses_path(cloud: Cloud, _model: str | None, _stream: bool) -> str:
    if is_dated(cloud.api_version):
        return f"/openai/responses?api-version={cloud.api_version}"
    return f"/openai/v1/responses{_azure_query(cloud)}"


def _foundry_url(cloud: Cloud) -> str:
    return _azure_url(cloud, "services.ai.azure.com")


def _foundry_path(_cloud: Cloud, _model: str | None, _stream: bool) -> str:
    return "/anthropic/v1/messages"


def _azure_beside(cloud: Cloud) -> tuple[str, str]:
    # No deployment in the path: the body of a request names it. Source: openai 3.54.0, ``lib/azure._prepare_url``.
    return ("/openai" if is_dated(cloud.api_version) else "/openai/v1"), _azure_query(cloud).removeprefix("?")


def _azure_query(cloud: Cloud) -> str:
    return "" if cloud.api_version in (None, "v1") else f"?api-version={cloud.api_version}"


def is_dated(api_version: str | None) -> bool:
    """Whether an API version is of the older, dated kind, such as 2024-10-21, with the deployment in the path."""
    return api_version is not None and api_version[:1].isdigit()


def _quote_model(model: str | None, safe: str = "") -> str:
    """A model's name as one segment of a path. Raises: InvalidArgument if it cannot be one."""
    if not model:
        raise InvalidArgument("the address of this cloud names the model: give one")
    # Also not ``..;x``, which some servers read as ``..`` with a parameter.
    if not model.isprintable() or not model.partition(";")[0].strip("."):
        raise InvalidArgument(f"{model[:80]!r} cannot be the name of a model: it would leave its place in the address")
    return quote(model, safe=safe)


def _dress_bedrock(body: Body, headers: Mapping[str, str]) -> Dressed:
    dressed, rest = _dress_vertex(body, headers)
    dressed.pop("stream", None)  # the path says it
    # Bedrock takes betas in the body alone.
    betas = rest.pop("anthropic-beta", None)
    if betas:
        dressed.setdefault("anthropic_beta", [each.strip() for each in betas.split(",") if each.strip()])
    return dressed, rest | {"accept": "application/json"}


def _dress_vertex(body: Body, headers: Mapping[str, str]) -> Dressed:
    rest = dict(headers)
    version = rest.pop("anthropic-version", ANTHROPIC_VERSION)
    dressed = {key: value for key, value in body.items() if key != "model"}
    return {"anthropic_version": version, **dressed}, rest


def _dress_foundry(body: Body, headers: Mapping[str, str]) -> Dressed:
    # As for Anthropic itself: the version is a header, and the body keeps the model, which names a deployment.
    return dict(body), {"anthropic-version": ANTHROPIC_VERSION, **headers}


def _as_it_is(body: Body, headers: Mapping[str, str]) -> Dressed:
    return dict(body), dict(headers)


_VERTEX_ENDINGS, _AZURE_ENDINGS = ("/v1", "/v1beta1"), ("/openai/v1", "/openai")
_FOUNDRY_ENDINGS = ("/anthropic/v1/messages", "/anthropic/v1", "/anthropic")
PLACES: dict[tuple[str, str], CloudPlace] = {
    ("bedrock", "anthropic"): CloudPlace(_bedrock_url, _bedrock_path, _dress_bedrock),
    ("vertex", "anthropic"): CloudPlace(_vertex_url, _vertex_claude_path, _dress_vertex, endings=_VERTEX_ENDINGS),
    ("vertex", "gemini"): CloudPlace(_vertex_url, _vertex_gemini_path, _as_it_is, endings=_VERTEX_ENDINGS),
    ("azure", "openai"): CloudPlace(_azure_url, _azure_chat_path, _as_it_is, "api-key", _AZURE_ENDINGS, _azure_beside),
    ("azure", "openai_responses"): CloudPlace(
        _azure_url, _azure_responses_path, _as_it_is, "api-key", _AZURE_ENDINGS, _azure_beside
    ),
    ("azure", "anthropic"): CloudPlace(_foundry_url, _foundry_path, _dress_foundry, "x-api-key", _FOUNDRY_ENDINGS),
}
