"""Addresses of databases: ``driver://user:password@host:port/database?key=value``, in SQLAlchemy's spelling.

User and password are percent-decoded, the name of the database is taken as it stands, and a key that is given several
times has a tuple of values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, quote_plus, unquote

_URL = re.compile(
    r"(?P<driver>[\w+]+)://"
    r"(?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?"
    r"(?:\[(?P<literal>[^/?\]]+)\]|(?P<host>[^/:?]+))?(?::(?P<port>[^/?]*))?"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_PLAIN = " +"  # characters of a user or password that need no percent


class URL(NamedTuple):
    """The parts of an address. ``host`` of an IPv6 literal has no brackets."""

    driver: str
    user: str | None = None
    password: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    query: Mapping[str, str | tuple[str, ...]] = {}

    def without(self, keys: Collection[str]) -> URL:
        """The same without these keys of the query."""
        return self._replace(query={key: value for key, value in self.query.items() if key not in keys})

    def get(self, key: str, default: str | None = None) -> str | None:
        """The value of a key of the query, the last one of several."""
        value = self.query.get(key, default)
        return value[-1] if isinstance(value, tuple) else value

    def __str__(self) -> str:
        """The address for people: without the password."""
        text = f"{self.driver}://"
        if self.user is not None:
            text += quote(self.user, safe=_PLAIN) + (":***" if self.password is not None else "") + "@"
        if self.host is not None:
            text += f"[{self.host}]" if ":" in self.host else self.host
        text += "" if self.port is None else f":{self.port}"
        text += "" if self.database is None else f"/{self.database}"
        return text + self._written_query()

    def _written_query(self) -> str:
        pairs = (
            f"{quote_plus(key)}={quote_plus('***' if key in SECRET else each)}"
            for key in sorted(self.query)
            for each in _all(self.query[key])
        )
        written = "&".join(pairs)
        return "?" + written if written else ""


SECRET = ("password", "sslpassword")
"""Keys of a query that hold what nobody is to see."""


def parse_url(text: str) -> URL:
    """The parts of an address. Raises: ValueError if it is none."""
    found = _URL.fullmatch(text)
    if found is None:
        raise ValueError("not a URL")
    port = found["port"]
    return URL(
        found["driver"],
        None if found["user"] is None else unquote(found["user"]),
        None if found["password"] is None else unquote(found["password"]),
        found["literal"] or found["host"],
        int(port) if port else None,
        found["database"],
        _query(found["query"] or ""),
    )


def _query(text: str) -> dict[str, str | tuple[str, ...]]:
    values: dict[str, str | tuple[str, ...]] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        values[key] = (*_all(values[key]), value) if key in values else value
    return values


def _all(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
