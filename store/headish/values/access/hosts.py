"""The hosts under which a server answers, and what sent a request.

A page on the internet can make a browser resolve its own name to this machine (DNS rebinding). Then it can read what a
server here answers. Such a request names the page's host, so a server that answers to its own names alone is safe from
it. A page of another origin can also send requests here without reading the answer. Headers that a browser adds, and
that no script can set, show where such a request comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal

from headish.errors import InvalidArgument, shown
from headish.values.checks.addresses import parse_address

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
"""The methods that change nothing. A page of another origin may use them, but cannot read the answer."""
_DEFAULT_PORTS = {"http": 80, "https": 443}

LOOPBACK_NETWORKS = ("127.0.0.0/8", "::1/128")

RawHeaders = Iterable[tuple[bytes, bytes]]
"""Headers as ASGI has them: names in lower case, in the order in which they came."""


def known_hosts(port: int, public_urls: Sequence[str] = (), *, host: str = "127.0.0.1") -> dict[str, str]:
    """Every ``Host`` that a server answers to, with the origin that a browser then shows: those of loopback, and of
    ``host``, on which it listens.

    ``public_urls`` are the addresses under which a proxy or a tunnel offers it: ``https://notes.example.org``.
    Raises: InvalidArgument for one with a path; InvalidAddress.
    """
    origins: dict[str, str] = {}
    for name in (*LOOPBACK_NAMES, *_listened_on(host)):
        origins |= _spellings("http", name, port)
    for url in public_urls:
        address = parse_address(url)
        if address.path:
            raise InvalidArgument(f"a public URL is scheme and host, without a path: not {shown(url)}")
        origins |= _spellings(address.scheme, address.host, address.port)
    return origins


def local_url(host: str, port: int) -> str:
    """The URL at which this machine reaches a server that listens on a host; that of loopback if it listens on all
    addresses."""
    shortest = _shortest(host)
    return f"http://{in_url(_OWN_OF_ALL.get(shortest, shortest))}:{port}"


def in_url(host: str) -> str:
    """A host as a URL has it: an IPv6 number in brackets."""
    number = host.strip("[]")
    return f"[{number}]" if ":" in number else number


_OWN_OF_ALL = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (asked, not bound)


def _listened_on(host: str) -> tuple[str, ...]:
    """The host on which a server listens, as requests name it. Empty if it listens on all addresses."""
    shortest = _shortest(host)
    return () if shortest in _OWN_OF_ALL else (in_url(shortest).lower(),)


def _shortest(host: str) -> str:
    """An address in the spelling that browsers use, without brackets; a name unchanged."""
    number = host.strip("[]")
    try:
        return str(_number_of(number))
    except ValueError:
        return number


def own_networks(host: str) -> tuple[str, ...]:
    """The networks (CIDR) from which this machine asks a server that listens on a host. A machine reaches an address of
    its own from that same address."""
    try:
        number = _number_of(host.strip("[]"))
    except ValueError:
        return LOOPBACK_NETWORKS
    return LOOPBACK_NETWORKS if number.is_unspecified else (*LOOPBACK_NETWORKS, str(number))


def _number_of(address: str) -> IPv4Address | IPv6Address:
    """The number of an address. An IPv4 address in the spelling of IPv6 becomes IPv4. Raises: ValueError."""
    number = ip_address(address)
    return getattr(number, "ipv4_mapped", None) or number


def _spellings(scheme: str, host: str, port: int) -> dict[str, str]:
    """The values of ``Host`` for one address, each with the origin. A browser leaves out the port that the scheme
    implies; other clients may name it."""
    if port == _DEFAULT_PORTS[scheme]:
        return dict.fromkeys((host, f"{host}:{port}"), f"{scheme}://{host}")
    return {f"{host}:{port}": f"{scheme}://{host}:{port}"}


def own_origin(headers: RawHeaders, known: Mapping[str, str]) -> str | None:
    """The origin under which a request came. None if it has not exactly one ``Host``, or an unknown one: answer 421 and
    nothing else."""
    hosts = values_of(headers, b"host")
    return known.get(hosts[0].lower()) if len(hosts) == 1 else None


Sender = Literal["own", "other", "none"]
"""A page of an own origin, one of another, or no page: a program, or a person who typed the address."""


def sender_of(headers: RawHeaders, own: Iterable[str]) -> Sender:
    """Who sent a request, by the headers that browsers add. ``own`` are the origins whose pages are trusted.

    ``Origin`` decides if the browser sends it, else ``Sec-Fetch-Site``. Another port of this machine is another origin.
    An ``Origin`` of ``own`` is trusted even if it is another site, like that of an Electron app, which it alone has.
    """
    listed = list(headers)
    origins, sites = values_of(listed, b"origin"), values_of(listed, b"sec-fetch-site")
    if len(origins) > 1 or len(sites) > 1:  # a browser sends each once
        return "other"
    if origins and origins[0].lower() in own:
        return "own"
    if origins:
        return "other"
    return _BY_SITE.get(sites[0].lower(), "other") if sites else "none"


_BY_SITE: dict[str, Sender] = {"same-origin": "own", "none": "none"}


def may_change(method: str, headers: RawHeaders, own: str) -> bool:
    """Whether a request may use the login that a browser adds by itself: its method is safe, or a page of ``own`` sent
    it, the origin under which it came."""
    if method in SAFE_METHODS:
        return True
    listed = list(headers)
    sites = values_of(listed, b"sec-fetch-site")
    if sites and sites != ["same-origin"]:
        return False
    origins = [each.lower() for each in values_of(listed, b"origin")]
    # Without either header, nothing shows that a page of ``own`` sent it.
    return (bool(sites) and not origins) or origins == [own]


def is_origin_form(target: bytes) -> bool:
    """Whether a request's target is a path. ``GET http://other/`` names a second host beside the header's, and parts of
    the server that look at different ones would disagree about the host."""
    return target.startswith(b"/") and not target.startswith(b"//")


def is_from(address: str, networks: Sequence[str]) -> bool:
    """Whether a peer's address is in one of the networks (CIDR). Raises: InvalidArgument for a malformed network."""
    try:
        number = _number_of(address)
        return any(number in ip_network(each) for each in networks)
    except ValueError:
        check_networks(networks)
        return False  # the networks are fine, so it is the peer that has no address


def check_networks(networks: Sequence[str]) -> None:
    """Refuse a text that is not a network. Raises: InvalidArgument."""
    for each in networks:
        try:
            ip_network(each)
        except ValueError as error:
            raise InvalidArgument(f"{shown(each)} is not a network such as 10.0.0.0/8: {error}") from None


def values_of(headers: RawHeaders, name: bytes) -> list[str]:
    """Every value of a header, in order."""
    return [value.decode("latin-1").strip() for key, value in headers if key == name]
