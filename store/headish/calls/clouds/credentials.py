"""Authenticate a request: with a provider's key, or with the credentials that a cloud's tools have for their user.

A pointer that names a cloud and a ``base_url`` (a private endpoint, a gateway) sends the cloud's credentials there: its
author named both (ADR 0046). They never travel unencrypted to another machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from headish.calls.keys import find_key, first_key, named_place, refuse_readable
from headish.calls.routes import Route
from headish.errors import CallError, CallRefused, MissingKey
from headish.providers.clouds import Cloud

_JSON_WEB_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")
"""The form of a token of Entra ID; a key of Azure is one run of letters and digits."""


class Signer(Protocol):
    """Signs each attempt of a call anew, because a signature holds a time."""

    def sign(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        """The headers that sign a request."""
        ...

    def explain(self, error: CallRefused, headers: Mapping[str, str]) -> CallError:
        """A better error for a refusal, from the headers of the answer; else the error itself."""
        ...


class Credentials(Struct, frozen=True):
    """The credentials of a request: headers, or a signer. ``secrets`` stay out of errors and events."""

    headers: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    signer: Signer | None = None


def find_credentials(route: Route, key_env: str | None, given: Mapping[str, str]) -> Credentials:
    """The credentials of a route; empty if the ``given`` headers have them already, or if the route gets none.

    Raises: MissingKey, InvalidKey, NoCredentials, ClockSkewed; InvalidAddress; InvalidArgument, also for an extra that
    is not installed.
    """
    if route.endpoint.key_header in given or (route.cloud is not None and not given.keys().isdisjoint(_OWN)):
        return Credentials()
    if route.cloud is None:
        key = find_key(route.provider, base_url=route.base_url, key_env=key_env)
        return Credentials() if key is None else _as_header(route.endpoint.key_header, route.endpoint.key_prefix, key)
    refuse_readable(route.address)
    return _FINDERS[route.cloud.name](route, route.cloud, key_env)


def _of_bedrock(route: Route, cloud: Cloud, key_env: str | None) -> Credentials:
    """A Bedrock API key, else AWS credentials. A profile takes precedence over the key in the environment."""
    key = _bearer(route, None if cloud.profile else "AWS_BEARER_TOKEN_BEDROCK", key_env)
    if key is not None:
        return key
    from headish.calls.clouds.aws import find_signer

    signer, secrets = find_signer(route.provider, cloud)
    return Credentials({}, secrets, signer)


def _of_vertex(route: Route, cloud: Cloud, key_env: str | None) -> Credentials:
    """A named access token, else Application Default Credentials."""
    key = _bearer(route, None, key_env)
    if key is not None:
        return key
    from headish.calls.clouds.google import find_token

    token, headers = find_token(route.provider)
    return Credentials({**headers, "authorization": f"Bearer {token}"}, (token,))


def _of_azure(route: Route, cloud: Cloud, key_env: str | None) -> Credentials:
    """A token of Entra ID from a variable, else a key of the resource, else a token from azure-identity. The form of
    the value tells a token from a key."""
    places = _AZURE_PLACES[route.provider] if key_env is None else (named_place(key_env),)
    try:
        key, place = first_key(route.provider, places)
    except MissingKey as missing:
        if key_env is not None:
            raise
        from headish.calls.clouds.entra import find_token

        return _as_header("authorization", "Bearer ", find_token(route, missing.looked_at))
    if place == _OPENAI_PLACES[0] or _JSON_WEB_TOKEN.fullmatch(key):
        return _as_header("authorization", "Bearer ", key)
    # Foundry gets both headers, as from its SDK: some gateways before it look for the older name.
    return Credentials(dict.fromkeys({route.endpoint.key_header, "api-key"}, key), (key,))


def _bearer(route: Route, variable: str | None, key_env: str | None) -> Credentials | None:
    """The key of a variable as a bearer token; None if the usual variable is not set, an error for a named one."""
    place = variable if key_env is None else named_place(key_env)
    if place is None:
        return None
    try:
        key, _ = first_key(route.provider, (place,))
    except MissingKey:
        if key_env is not None:
            raise
        return None
    return _as_header("authorization", "Bearer ", key)


def _as_header(name: str, prefix: str, key: str) -> Credentials:
    return Credentials({name: prefix + key}, (key,))


_OWN = ("authorization", "api-key")
"""Headers of the caller that replace all credentials of a cloud."""
_OPENAI_PLACES = ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY", "keyring:azure")
_AZURE_PLACES = {
    "openai": _OPENAI_PLACES,
    "openai_responses": _OPENAI_PLACES,
    "anthropic": ("ANTHROPIC_FOUNDRY_API_KEY", "keyring:azure"),
}
"""In the order of openai 3.54.0, ``lib/azure._resolve_azure_auth``, and of anthropic 2.12.0, ``lib/foundry.py``."""
_FINDERS: dict[str, Callable[[Route, Cloud, str | None], Credentials]] = {
    "bedrock": _of_bedrock,
    "vertex": _of_vertex,
    "azure": _of_azure,
}
