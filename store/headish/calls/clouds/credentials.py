"""Authenticate a request: with a provider's key, or with the credentials that a cloud's tools have for their user.

A pointer that names a cloud has said that the cloud's credentials go where the pointer says, so its ``base_url`` (a
private endpoint, a gateway) gets them, too. They never travel where others could read them.
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
"""What a token of Entra ID looks like; a key of Azure is one run of letters and digits."""


class Signer(Protocol):
    """Signs each attempt of a call anew, because a signature holds a time."""

    def sign(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        """The headers that sign a request."""
        ...

    def explain(self, error: CallRefused, headers: Mapping[str, str]) -> CallError:
        """What a refusal really means, by the headers of the answer; else the error itself."""
        ...


class Credentials(Struct, frozen=True):
    """What a request carries: headers, or who signs it; ``secrets`` stay out of errors and events."""

    headers: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    signer: Signer | None = None


def find_credentials(route: Route, key_env: str | None, given: Mapping[str, str]) -> Credentials:
    """The credentials of a route; none where ``given`` headers hold them already, or where none are to be sent.

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
    """A Bedrock API key, else AWS credentials. A profile is asked before the environment's key."""
    key = _bearer(route, None if cloud.profile else "AWS_BEARER_TOKEN_BEDROCK", key_env)
    if key is not None:
        return key
    from headish.calls.clouds.aws import find_signer

    signer, secrets = find_signer(route.provider, cloud)
    return Credentials({}, secrets, signer)


def _of_vertex(route: Route, cloud: Cloud, key_env: str | None) -> Credentials:
    """An access token that is named, else Application Default Credentials."""
    key = _bearer(route, None, key_env)
    if key is not None:
        return key
    from headish.calls.clouds.google import find_token

    token, headers = find_token(route.provider)
    return Credentials({**headers, "authorization": f"Bearer {token}"}, (token,))


def _of_azure(route: Route, cloud: Cloud, key_env: str | None) -> Credentials:
    """A token of Entra ID that is set, else a key of the resource, else what azure-identity knows of its user. Its
    shape tells a token from a key."""
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
    # Both of them to Foundry, as its SDK does: some gateways before it look for the older name.
    return Credentials(dict.fromkeys({route.endpoint.key_header, "api-key"}, key), (key,))


def _bearer(route: Route, variable: str | None, key_env: str | None) -> Credentials | None:
    """The key of a variable as a bearer token; None if the variable is only the usual one and not set."""
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
"""The headers of a caller that stand for all credentials of a cloud."""
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
