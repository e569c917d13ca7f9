"""Base URLs: check which ones headish can call, and which ones may receive a key.

The grammar is narrower than RFC 3986 on purpose: no other reader of URLs can find another host in what this module
accepts, so the host that was checked is the host that is called.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from msgspec import Struct

from headish.errors import InvalidAddress

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LABEL = r"[a-z0-9_-]{1,63}"
_ADDRESS = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{{1,5}}))?"
    r"(?P<path>(?:/[a-z0-9._~%!$&'()*+,;=:@-]*)*)",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"(?<=//)[^/]*@|[?#].*", re.DOTALL)
"""Where a URL may hold a password or a key: before its host, and after its path."""


class Address(Struct, frozen=True):
    """A base URL that was checked: scheme and host in lower case, ``path`` without a slash at its end."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, as errors show them."""
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine itself, by name or number."""
        try:
            return self.host == "localhost" or ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def is_in_the_clear(self) -> bool:
        """Whether it is on this machine and called without TLS; then it is called without a proxy and certificates."""
        return self.scheme == "http" and self.is_loopback

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read what is sent."""
        return self.scheme == "https" or self.is_loopback


def parse_address(base_url: str) -> Address:
    """Check and parse a base URL. Raises: InvalidAddress."""
    match = _ADDRESS.fullmatch(base_url)
    if match is None:
        # The error is printed and logged: it must not repeat a password or a key.
        shown = _HIDDEN.sub(lambda hidden: "***@" if hidden[0].endswith("@") else f"{hidden[0][0]}***", base_url)
        raise InvalidAddress(shown[:200], "a base URL is http(s)://host[:port][/path], with no user, query or fragment")
    scheme = match["scheme"].lower()
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS[scheme]
    if not 0 < port < 65536:
        raise InvalidAddress(base_url[:200], f"there is no port {port}")
    return Address(scheme, match["host"].lower(), port, match["path"].rstrip("/"))
