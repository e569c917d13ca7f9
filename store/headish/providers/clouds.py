"""Clouds that serve a provider's models: the cloud and the account. Never a key: the cloud's own tools keep those.

The words are those of each cloud: Bedrock has a *region* and a *profile*, Vertex AI a *region* (its location) and a
*project*, Azure a *resource* and perhaps an *API version*.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from msgspec import Struct, to_builtins

from headish.errors import InvalidArgument, shown
from headish.values.checks.addresses import parse_address


class Cloud(Struct, frozen=True, omit_defaults=True):
    """The cloud that serves a pointer's model (``bedrock``, ``vertex`` or ``azure``), and the account to use there."""

    name: str
    region: str | None = None
    project: str | None = None
    profile: str | None = None
    resource: str | None = None
    api_version: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without what is not set."""
        record: dict[str, Any] = to_builtins(self)
        return record

    def __str__(self) -> str:
        account = ", ".join(each for each in (self.region, self.project or self.resource) if each)
        return f"{TITLES[self.name]} ({account})" if account else TITLES[self.name]


class Terms(NamedTuple):
    """The providers that a cloud serves, and the settings that it needs and takes."""

    providers: tuple[str, ...]
    needs: tuple[str, ...]
    takes: tuple[str, ...]


def cloud_of_host(provider: str, base_url: str | None) -> str | None:
    """The cloud that a server's host shows; None for any other host. Raises: InvalidAddress."""
    if provider != FOUNDRY_PROVIDER or base_url is None:
        return None
    return "azure" if parse_address(base_url).host.removesuffix(".").endswith(FOUNDRY_HOST) else None


def cloud_at(provider: str, base_url: str | None) -> Cloud | None:
    """The cloud, by its host, of a server that is named for one call. Raises: InvalidAddress."""
    return make_cloud(provider, cloud_of_host(provider, base_url), base_url, {})


def make_cloud(provider: str, name: str | None, base_url: str | None, given: dict[str, str | None]) -> Cloud | None:
    """The cloud of a pointer; None if ``name`` is None. Raises: InvalidArgument, which names the option."""
    settings = {key: value for key, value in given.items() if value is not None}
    if name is None:
        if settings:
            word = next(iter(settings))
            raise InvalidArgument(f"{word} belongs to a cloud: give cloud, too, one of {', '.join(CLOUDS)}")
        return None
    terms = CLOUDS.get(name)
    if terms is None:
        raise InvalidArgument(f"cloud is one of {', '.join(CLOUDS)}, not {shown(name)}")
    if provider not in terms.providers:
        served = " or ".join(terms.providers)
        raise InvalidArgument(f"{TITLES[name]} serves {served} here, not {provider}: write {served.split()[0]}/MODEL")
    for key, value in settings.items():
        if key not in terms.takes:
            raise InvalidArgument(f"{TITLES[name]} has no {key}: it takes {', '.join(terms.takes)}")
        if not PATTERNS[key].fullmatch(value):
            raise InvalidArgument(f"{shown(value)} cannot be the {key} of {TITLES[name]}")
    if "api_version" in settings and provider == FOUNDRY_PROVIDER:
        raise InvalidArgument(f"the models of {provider} at {TITLES[name]} have no api_version: leave it out")
    missing = next((key for key in terms.needs if key not in settings and not (key == "resource" and base_url)), None)
    if missing is not None:
        raise InvalidArgument(f"{TITLES[name]} needs a {missing}{HINTS.get(missing, '')}")
    return Cloud(name, **settings)


FOUNDRY_PROVIDER, FOUNDRY_HOST = "anthropic", ".services.ai.azure.com"
"""The provider that the host of Microsoft Foundry implies. Source: anthropic 2.12.0, ``lib/foundry.py``, 2026-11-22. It
does not imply ``openai``: there a pointer without a cloud is a compatible server, and names its key."""
TITLES = {"bedrock": "Amazon Bedrock", "vertex": "Vertex AI", "azure": "Microsoft Azure"}
CLOUDS = {
    "bedrock": Terms(("anthropic",), ("region",), ("region", "profile")),
    "vertex": Terms(("anthropic", "gemini"), ("region", "project"), ("region", "project")),
    "azure": Terms(("openai", "openai_responses", "anthropic"), ("resource",), ("resource", "api_version")),
}
HINTS = {
    "region": ", such as us-east-1 for Bedrock, or us-east5, eu or global for Vertex AI",
    "project": ": the id of the Google Cloud project that pays",
    "resource": (
        ": NAME of https://NAME.openai.azure.com or of https://NAME.services.ai.azure.com, or base_url with the whole "
        "endpoint"
    ),
}
PATTERNS = {
    # Most become a part of a host or of a path, so they hold no character that could end that part.
    "region": re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"),
    "project": re.compile(r"[a-z0-9](?:[a-z0-9.:-]{0,98}[a-z0-9])?"),
    "resource": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"),
    "api_version": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,38}[A-Za-z0-9])?"),
    "profile": re.compile(r"[A-Za-z0-9_.@+=/][A-Za-z0-9_.@+=/ -]{0,127}"),
}
