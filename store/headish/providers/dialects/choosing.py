"""The choice of a server's dialect, and a description in words of what the dialect changes.

A named dialect wins, then the one known for the server's host, then OpenAI's own.

Hosts are compared label by label, from the end: ``deepseek.com.example`` belongs to ``example`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from headish.errors import InvalidArgument, UnknownFormat
from headish.providers.dialects.table import DIALECTS
from headish.providers.dialects.values import PARTS, Dialect
from headish.values.checks.addresses import Address, parse_address
from headish.values.results.plain import PlainResult

PROVIDER = "openai"
"""The provider that has dialects."""
DEFAULT = "openai"


class Spoken(PlainResult, frozen=True):
    """The dialect to use for a server, and why."""

    name: str
    why: str

    @property
    def is_default(self) -> bool:
        """Whether it is OpenAI's own."""
        return self.name == DEFAULT


def find_dialect(name: str | None) -> Dialect:
    """The dialect of this name; OpenAI's own for None. Raises: UnknownFormat."""
    dialect = DIALECTS.get(name or DEFAULT)
    if dialect is None:
        raise UnknownFormat(str(name), tuple(DIALECTS), "dialect")
    return dialect


def check_dialect(provider: str, name: str) -> None:
    """Check that a provider has a dialect. Raises: UnknownFormat; InvalidArgument for a provider without dialects."""
    find_dialect(name)
    if provider != PROVIDER:
        raise InvalidArgument(f"{provider} has no dialects: they are those of servers that speak like {PROVIDER}")


def choose_dialect(provider: str, base_url: str | None = None, named: str | None = None) -> Spoken | None:
    """The dialect of a call; None for a provider without dialects. Raises: UnknownFormat, InvalidAddress."""
    if provider != PROVIDER:
        return None
    if named is not None:
        find_dialect(named)
        return Spoken(named, "it was named")
    if base_url is None:
        return Spoken(DEFAULT, "it is the provider's own server")
    address = parse_address(base_url)
    unknown = Spoken(DEFAULT, f"{address.host} is not a host of another dialect: name one if it speaks otherwise")
    return _spoken_at(address) or unknown


def known_dialect(provider: str, base_url: str | None = None, named: str | None = None) -> str | None:
    """The name of the dialect of a call; None for a provider without dialects, and for a server that is neither named
    nor known by its host.

    Such a server may want back anything that it said, so it gets all of it, sealed reasoning too (ADR 0119). OpenAI's
    own gets what its row of the table allows.
    Raises: UnknownFormat, InvalidAddress.
    """
    spoken = choose_dialect(provider, base_url, named)
    if spoken is None or (named is None and base_url is not None and _spoken_at(parse_address(base_url)) is None):
        return None
    return spoken.name


def _spoken_at(address: Address) -> Spoken | None:
    for name, dialect in DIALECTS.items():
        for host in dialect.hosts:
            if _is_at(address, host):
                return Spoken(name, f"the server is {_described(host)}")
    return None


def _described(host: str) -> str:
    if host.startswith("loopback:"):
        return f"at port {host.removeprefix('loopback:')} of this machine"
    return f"below {host[1:]}" if host.startswith(".") else host


def _is_at(address: Address, host: str) -> bool:
    server_host = address.host.removesuffix(".")  # with the dot of the DNS root, a name is the same host
    if host.startswith("loopback:"):
        return address.is_loopback and host == f"loopback:{address.port}"
    return server_host.endswith(host) if host.startswith(".") else server_host == host


OPENAI_LIMIT = "max_completion_tokens"


def describe_dialect(name: str) -> list[str]:
    """The changes of a dialect, one sentence each, in a fixed order. Raises: UnknownFormat."""
    return list(_sentences(find_dialect(name)))


def _sentences(dialect: Dialect) -> Iterator[str]:
    yield _reasoning(dialect)
    if dialect.details:
        yield "reasoning_details go back instead, where an answer has them"
    if dialect.sealed and not dialect.details:
        yield f"signed or encrypted reasoning goes back as {', '.join(dialect.sealed)}"
    if dialect.tags:
        yield f"<{dialect.tags[0]}> at the beginning of an answer is read as reasoning, and goes back as it came"
    if dialect.keys is not None:
        yield f"the further keys of an answer that go back: {', '.join(dialect.keys) or 'none'}"
    yield f"the limit of an answer is sent as {dialect.places.get('max_tokens', OPENAI_LIMIT)}"
    if dialect.roles:
        yield "developer messages are sent as system"
    if not dialect.lists:
        yield "content is always one text, never a list of texts"
    if dialect.ids is not None:
        yield f"ids of calls have {dialect.ids} letters or digits: others are rewritten"
    for parameter, place in dialect.places.items():
        if parameter != "max_tokens":
            yield f"{parameter} is sent as {place}"
    for feature, reason in dialect.refused.items():
        yield f"refused: {feature} ({reason})"
    for feature, reason in dialect.ignored.items():
        yield f"left out, with a note: {feature} ({reason})"


def _reasoning(dialect: Dialect) -> str:
    if dialect.reasoning is None:
        return "reasoning does not go back"
    if dialect.reasoning == PARTS:
        return "reasoning goes back as a part of the content"
    always = ", in every answer, empty where nothing was thought" if dialect.fills else ""
    return f"reasoning goes back as {dialect.reasoning}{always}"
