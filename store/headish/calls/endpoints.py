"""The address of each provider, and the headers of its requests.

A base URL given by the caller follows the convention of the provider's own SDK: with ``/v1`` for OpenAI
(``http://127.0.0.1:11434/v1``), without it for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct

from headish.errors import InvalidArgument, UnknownFormat
from headish.values.checks.addresses import Address, parse_address

_MODEL_FOLDERS = ("models/", "tunedModels/")


class Endpoint(Struct, frozen=True, kw_only=True):
    """One provider. ``path`` follows the base URL, for a stream ``stream_path`` if there is one; ``{model}`` in them
    stands for the model's name.

    ``key_header`` holds ``key_prefix`` and the key. ``key_variables`` and ``keyring_users`` are searched in order.
    """

    base_url: str
    path: str
    stream_path: str | None = None
    key_variables: tuple[str, ...]
    keyring_users: tuple[str, ...]
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = {}

    @property
    def address(self) -> Address:
        """The provider's own base URL."""
        return parse_address(self.base_url)


def find_endpoint(provider: str) -> Endpoint:
    """The endpoint of a provider id. Raises: UnknownFormat."""
    endpoint = ENDPOINTS.get(provider)
    if endpoint is None:
        raise UnknownFormat(provider, tuple(sorted(ENDPOINTS)))
    return endpoint


def write_url(endpoint: Endpoint, address: Address, model: str | None, *, stream: bool) -> str:
    """The URL to post to. Raises: InvalidArgument if the model is missing or would leave its place in the path."""
    path = (endpoint.stream_path if stream else None) or endpoint.path
    if "{model}" in path:
        path = path.replace("{model}", _quote_model(model))
    return address.origin + address.path + path


def _quote_model(model: str | None) -> str:
    """``models/NAME``, as Gemini's paths name a model. Source: google-genai 3.4.0, ``_transformers.t_model``."""
    if not model:
        raise InvalidArgument("the address of this provider names the model: give one")
    folder = next((folder for folder in _MODEL_FOLDERS if model.startswith(folder)), _MODEL_FOLDERS[0])
    name = model.removeprefix(folder)
    if not name.isprintable() or not name.strip(".") or any(mark in name for mark in "/\\"):
        raise InvalidArgument(f"{model[:80]!r} cannot be the name of a model: it would leave its place in the address")
    return folder + quote(name, safe="")


ENDPOINTS: dict[str, Endpoint] = {
    # anthropic 2.12.0, _client.py, _constants.py, resources/messages; read 2026-11-20. Both variables hold what is sent
    # as "Authorization: Bearer".
    "anthropic": Endpoint(
        base_url="https://api.anthropic.com",
        path="/v1/messages",
        key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        keyring_users=("anthropic",),
        headers={"anthropic-version": "2026-10-21"},
    ),
    # openai 3.54.0, _data_residency.py, lib/_client_auth.py, resources/chat/completions; read 2026-11-20.
    "openai": Endpoint(
        base_url="https://api.openai.com/v1",
        path="/chat/completions",
        key_variables=("OPENAI_API_KEY",),
        keyring_users=("openai",),
    ),
    # openai 3.54.0, resources/responses; read 2026-11-20. The same account as "openai", so the same key will do.
    "openai_responses": Endpoint(
        base_url="https://api.openai.com/v1",
        path="/responses",
        key_variables=("OPENAI_API_KEY",),
        keyring_users=("openai_responses", "openai"),
    ),
    # google-genai 3.4.0, _api_client.py (version v1, GOOGLE_API_KEY before GEMINI_API_KEY), models.py; read 2026-11-20.
    "gemini": Endpoint(
        base_url="https://generativelanguage.googleapis.com",
        path="/v1/{model}:generateContent",
        stream_path="/v1/{model}:streamGenerateContent?alt=sse",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        keyring_users=("gemini",),
        key_header="x-goog-api-key",
        key_prefix="",
    ),
    # cohere 7.3.1, environment.py, client.py (CO_API_KEY is "preferred"), v2/raw_client.py; read 2026-11-20.
    "cohere": Endpoint(
        base_url="https://api.cohere.com",
        path="/v2/chat",
        key_variables=("CO_API_KEY", "COHERE_API_KEY"),
        keyring_users=("cohere",),
    ),
    # cerebras-cloud-sdk 1.91.0, _client.py, resources/chat/completions.py; read 2026-11-20.
    "cerebras": Endpoint(
        base_url="https://api.cerebras.ai",
        path="/v1/chat/completions",
        key_variables=("CEREBRAS_API_KEY",),
        keyring_users=("cerebras",),
    ),
}
