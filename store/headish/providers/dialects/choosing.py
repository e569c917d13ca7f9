"""Which dialect a server speaks: the one that was named, else the one that its host is known for, else OpenAI's own.

A host is compared label by label, from its end: ``deepseek.com.example`` is nobody's but ``example``'s.
"""

from __future__ import annotations

from msgspec import Struct

from headish.errors import InvalidArgument, UnknownFormat
from headish.providers.dialects.table import DIALECTS
from headish.providers.dialects.values import Dialect
from headish.values.checks.addresses import Address, parse_address

PROVIDER = "openai"
"""The provider that has dialects."""
DEFAULT = "openai"


class Spoken(Struct, frozen=True):
    """The dialect that a server is spoken to in, and why."""

    name: str
    why: str

    @property
    def is_default(self) -> bool:
        """Whether it is OpenAI's own."""
        return self.name == DEFAULT

    def to_dict(self) -> dict[str, str]:
        """As plain data: ``{name, why}``."""
        return {"name": self.name, "why": self.why}


def find_dialect(name: str | None) -> Dialect:
    """The dialect of this name; None is OpenAI's own. Raises: UnknownFormat."""
    found = DIALECTS.get(name or DEFAULT)
    if found is None:
        raise UnknownFormat(str(name), tuple(DIALECTS), "dialect")
    return found


def check_dialect(provider: str, name: str) -> None:
    """Raises: UnknownFormat; InvalidArgument for a provider that has no dialects."""
    find_dialect(name)
    if provider != PROVIDER:
        raise InvalidArgument(f"{provider} has no dialects: they are those of servers that speak like {PROVIDER}")


def choose_dialect(provider: str, base_url: str | None = None, named: str | None = None) -> Spoken | None:
    """The dialect of a call; None for a provider that has none. Raises: UnknownFormat, InvalidAddress."""
    if provider != PROVIDER:
        return None
    if named is not None:
        find_dialect(named)
        return Spoken(named, "it was named")
    if base_url is None:
        return Spoken(DEFAULT, "it is the provider's own server")
    address = parse_address(base_url)
    for name, dialect in DIALECTS.items():
        for host in dialect.hosts:
            if _is_at(address, host):
                return Spoken(name, f"the server is {_described(host)}")
    return Spoken(DEFAULT, f"{address.host} is no host of another: name one if it speaks otherwise")


def _described(host: str) -> str:
    if host.startswith("loopback:"):
        return f"at port {host.removeprefix('loopback:')} of this machine"
    return f"below {host[1:]}" if host.startswith(".") else host


def _is_at(address: Address, host: str) -> bool:
    given = address.host.removesuffix(".")
    if host.startswith("loopback:"):
        return address.is_loopback and host == f"loopback:{address.port}"
    return given.endswith(host) if host.startswith(".") else given == host
