"""Addresses of databases: ``driver://user:password@host:port/database?key=value``, in SQLAlchemy's spelling.

User, password and the name of the database are percent-decoded, and a key that is given several times has a tuple of
values. A test compares the results with SQLAlchemy's. This module contacts no server.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, quote_plus, unquote

# As SQLAlchemy reads it: only ``@`` ends a password, which may contain ``:`` and ``/``.
_URL = re.compile(
    r"(?P<driver>[\w+]+)://"
    r"(?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?"
    r"(?:\[(?P<literal>[^/?\]]+)\]|(?P<host>[^/:?]+))?(?::(?P<port>[^/?]*))?"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
LAST_PORT = 65535
_PLAIN = " +"  # not percent-encoded in a user or a database's name, as SQLAlchemy writes them


class URL(NamedTuple):
    """The parts of an address. An IPv6 literal as ``host`` has no brackets."""

    driver: str
    user: str | None = None
    password: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    query: Mapping[str, str | tuple[str, ...]] = {}

    def without(self, keys: Collection[str]) -> URL:
        """This address without these keys of the query."""
        return self._replace(query={key: value for key, value in self.query.items() if key not in keys})

    def get(self, key: str, default: str | None = None) -> str | None:
        """The value of a key of the query, the last one of several; ``default`` if there is none."""
        value = self.query.get(key, default)
        return value[-1] if isinstance(value, tuple) else value

    def __str__(self) -> str:
        """The address for people, without passwords."""
        text = f"{self.driver}://"
        if self.user is not None:
            text += quote(self.user, safe=_PLAIN) + (":***" if self.password is not None else "") + "@"
        if self.host is not None:
            text += f"[{self.host}]" if ":" in self.host else self.host
        text += "" if self.port is None else f":{self.port}"
        text += "" if self.database is None else f"/{quote(self.database, safe=_PLAIN + '/')}"
        return text + self._written_query()

    def _written_query(self) -> str:
        pairs = (
            f"{quote_plus(key)}={quote_plus('***' if key in SECRET else each)}"
            for key in sorted(self.query)
            for each in _all(self.query[key])
        )
        query = "&".join(pairs)
        return "?" + query if query else ""


SECRET = ("password", "sslpassword")
"""The keys of a query whose values must not be shown."""


def parse_url(text: str) -> URL:
    """Parse an address. Raises: ValueError."""
    match = _URL.fullmatch(text)
    if match is None:
        raise ValueError("not a URL")
    port = match["port"]
    return URL(
        match["driver"],
        None if match["user"] is None else unquote(match["user"]),
        None if match["password"] is None else unquote(match["password"]),
        match["literal"] or match["host"],
        None if port is None else int(port),
        None if match["database"] is None else unquote(match["database"]),
        _query(match["query"] or ""),
    )


def parse_strictly(text: str) -> URL:
    """Parse an address that somebody has just typed, and refuse what no server can have.

    Raises: ValueError. Its message repeats nothing of the address, because any part of a mistyped one may be the
    password.
    """
    if _STRAY_PERCENT.search(text):
        raise ValueError("a % is not followed by two hex digits")
    try:
        url = parse_url(text)
    except ValueError:
        raise ValueError("it is not postgresql://[USER@]HOST[:PORT]/DATABASE with a number as PORT") from None
    if url.port is not None and not 1 <= url.port <= LAST_PORT:
        raise ValueError(f"its port is not between 1 and {LAST_PORT:,}")
    if any(each in "[]" or each.isspace() for each in url.host or ""):
        raise ValueError("its host is not a host name")
    values = [each for value in url.query.values() for each in _all(value)]
    if not all(
        each.isprintable() for each in (url.user or "", url.host or "", url.database or "", *url.query, *values)
    ):
        raise ValueError("it contains a control character")
    server_arguments(url)
    return url


def server_arguments(url: URL) -> dict[str, Any]:
    """The arguments for a server's driver, by libpq's names. The query wins over the rest of the address.

    Several hosts, ``?host=a:1&host=b:2`` or ``?host=a,b&port=1,2``, become one list for the driver.
    Raises: ValueError if ports are given in both ways.
    """
    parts = {"user": url.user, "password": url.password, "host": url.host, "port": url.port, "dbname": url.database}
    arguments: dict[str, Any] = {key: value for key, value in parts.items() if value}
    arguments |= {key: ",".join(_all(value)) if key == "port" else url.get(key) for key, value in url.query.items()}
    hosts = url.query.get("host", "")
    if isinstance(hosts, str) and not ("port" not in url.query and _HOST_AND_PORT.fullmatch(hosts)):
        return arguments
    if "port" in url.query:
        raise ValueError("a port stands behind its host, or all ports stand in port=, and not both")
    pairs = [each.partition(":") for each in _all(hosts)]
    ports = [port for _, _, port in pairs]
    return (
        arguments | {"host": ",".join(host for host, _, _ in pairs)} | ({"port": ",".join(ports)} if any(ports) else {})
    )


_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]*:[0-9]*")  # does not match the path of a socket


def _query(text: str) -> dict[str, str | tuple[str, ...]]:
    values: dict[str, str | tuple[str, ...]] = {}
    for key, value in parse_qsl(text):
        values[key] = (*_all(values[key]), value) if key in values else value
    return values


def _all(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
