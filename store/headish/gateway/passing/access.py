"""Admit callers of the gateway, and find the space that records their calls, from a file that another process keeps.

The gateway opens no database. The web process writes what the gateway needs to know to a file, and rewrites it when
something changes; the gateway looks at the file's date before each call. So a revoked token stops within the time that
the writer takes to notice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from headish.gateway.files import read_whole
from headish.gateway.passing.headers import KEY_HEADERS, TOKEN_HEADER, Pairs
from headish.gateway.passing.upstreams import SHAPES, UPSTREAMS, CallTarget, Shape, Upstream
from headish.values.access.tokens import PREFIX, Token, find_token

RIGHT = "gateway"
ACCESS_FILE = "access.json"
"""The name of the file in the server's folder."""


class PointerPlace(Struct, frozen=True, omit_defaults=True):
    """What the gateway knows of a provider pointer. ``is_own``: ``base_url`` is the provider's own address."""

    provider: str
    base_url: str
    is_own: bool = False
    key_env: str | None = None


class Access(Struct, frozen=True, omit_defaults=True):
    """All tokens of a database, and the pointers of each space by name. A call without a token uses the pointers of
    ``space``."""

    tokens: tuple[Token, ...] = ()
    pointers: Mapping[str, Mapping[str, PointerPlace]] = {}
    space: str = "default"


class AccessFile:
    """Reads the access file that the web process writes. A missing or broken file admits no token."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._read = Access()

    def now(self) -> Access:
        """The access that the file gives now. Cost: one ``stat``, unless the file has changed."""
        try:
            status = os.stat(self._path)
            # All three: a file may be replaced within one step of the clock, and by one of the same size.
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._read = read_whole(self._path, Access) or Access()
                self._stamp = stamp
        except OSError:
            self._read, self._stamp = Access(), None
        return self._read


class ShownToken(Struct, frozen=True):
    """The token that a request shows, and the key header that holds it; ``header`` is None if the token came in
    ``x-headish-token`` or after ``/t/``."""

    text: str
    header: str | None = None


def shown_token(target: CallTarget, headers: Pairs) -> ShownToken | None:
    """The token that a request shows; None if it shows none."""
    lowered = {name.lower(): value for name, value in headers}
    if target.token is not None:
        return ShownToken(target.token)
    if TOKEN_HEADER in lowered:
        return ShownToken(lowered[TOKEN_HEADER])
    for header in KEY_HEADERS:
        text = lowered.get(header, "").rpartition(" ")[2]  # the word after a scheme such as Bearer
        if text.startswith(PREFIX):
            return ShownToken(text, header)
    return None


def find_admitted(access: Access, shown: ShownToken) -> Token | None:
    """The token that a request shows, if it may send calls; else None."""
    token = find_token(access.tokens, shown.text, time.time_ns() // 1_000_000)
    return token if token is not None and RIGHT in token.rights else None


def find_upstream(
    access: Access, upstreams: Mapping[str, Upstream], target: CallTarget, space: str | None
) -> Upstream | None:
    """The server that a call goes to: one of ``upstreams``, or the place of the space's pointer; None if the space has
    no such pointer."""
    if target.pointer is None:
        return upstreams[target.api or ""]
    place = access.pointers.get(space or access.space, {}).get(target.pointer)
    if place is None:
        return None
    return Upstream(
        api=target.pointer,
        shape=SHAPES.get(place.provider, "openai"),
        provider=place.provider,
        base_url=place.base_url,
        is_own=place.is_own,
        key_env=place.key_env,
    )


def shape_of(target: CallTarget) -> Shape:
    """The shape of errors for a target whose upstream is not known yet."""
    return UPSTREAMS[target.api].shape if target.api else "openai"
