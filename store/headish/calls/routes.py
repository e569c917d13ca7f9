"""The destination of a request: a provider itself, a compatible server, or a cloud that serves its models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from headish.calls.clouds.places import CloudPlace, find_place
from headish.calls.endpoints import Endpoint, find_endpoint, write_url
from headish.errors import InvalidArgument
from headish.providers.clouds import Cloud
from headish.values.checks.addresses import Address, parse_address


class Route(Struct, frozen=True, kw_only=True):
    """An address, and what goes with its requests. ``endpoint`` has the headers to which those of a call are added."""

    provider: str
    url: str
    address: Address
    endpoint: Endpoint
    base_url: str | None
    cloud: Cloud | None = None
    place: CloudPlace | None = None

    def dress(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Mapping[str, Any], dict[str, str]]:
        """The body and headers in the form that this destination takes."""
        return (body, dict(headers)) if self.place is None else self.place.dress(body, headers)

    def beside(self, path: str) -> str:
        """The URL of another resource of the API: a file, a batch, a stored answer.

        Raises: InvalidArgument for a cloud where headish asks only for answers.
        """
        if self.place is None or self.cloud is None:
            return self.address.origin + self.address.path + path
        if self.place.beside is None:
            raise InvalidArgument(f"headish asks {self.cloud} for answers alone")
        before, query = self.place.beside(self.cloud)
        path += f"{'&' if '?' in path else '?'}{query}" if query else ""
        return self.address.origin + _without_ending(self.address.path, self.place.endings) + before + path


def find_route(
    provider: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    cloud: Cloud | None = None,
    stream: bool = True,
) -> Route:
    """The route of a request. Raises: UnknownFormat for the provider; InvalidAddress; InvalidArgument."""
    endpoint = find_endpoint(provider)
    if cloud is None:
        address = endpoint.address if base_url is None else parse_address(base_url)
        url = write_url(endpoint, address, model, stream=stream)
        return Route(provider=provider, url=url, address=address, endpoint=endpoint, base_url=base_url)
    place = find_place(cloud, provider)
    address = parse_address(place.base_url(cloud) if base_url is None else base_url)
    return Route(
        provider=provider,
        url=address.origin + _without_ending(address.path, place.endings) + place.path(cloud, model, stream),
        address=address,
        endpoint=_without_headers(endpoint, place.key_header),
        base_url=base_url,
        cloud=cloud,
        place=place,
    )


def _without_ending(path: str, endings: tuple[str, ...]) -> str:
    return path.removesuffix(next((each for each in endings if path.endswith(each)), ""))


def _without_headers(endpoint: Endpoint, key_header: str) -> Endpoint:
    """A provider's endpoint without its own headers and places of keys, which belong to its own address."""
    bare = replace(endpoint, key_variables=(), keyring_users=(), headers={})
    return replace(bare, key_header=key_header, key_prefix="Bearer ")
