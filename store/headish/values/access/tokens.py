"""Tokens: what a program shows a server of headish. ``hdsh_``, 43 random characters, and a checksum of six.

The checksum tells a typing error from a wrong token without a look into any store, and lets scanners for leaked keys
pass over texts that only look like one. Only the BLAKE3 of a token is kept. A token is too long to be guessed, so no
slow hash is needed.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from typing import Any, Literal, get_args

from blake3 import blake3
from msgspec import Struct

from headish.values.times import from_milliseconds

Right = Literal["read", "write", "gateway", "sync", "erase", "trust"]
RIGHTS: tuple[Right, ...] = get_args(Right)
"""What a token may allow in its space. None implies another. ``trust``: options of a store that syncs act here."""

PREFIX = "hdsh_"
TOKEN = re.compile(r"hdsh_[A-Za-z0-9_-]{43}[A-Za-z0-9_-]{6}")
_RANDOM_BYTES = 32


def make_token() -> str:
    """A new token. It is shown once: nothing keeps it."""
    body = PREFIX + _letters(secrets.token_bytes(_RANDOM_BYTES))
    return body + _checksum(body)


def is_token(text: str) -> bool:
    """Whether a text is a token typed without an error, whether or not a server knows it."""
    return TOKEN.fullmatch(text) is not None and hmac.compare_digest(text[-6:], _checksum(text[:-6]))


def token_hash(token: str) -> bytes:
    """The hash that is kept instead of a token."""
    return blake3(token.encode()).digest()


def _checksum(body: str) -> str:
    return _letters(blake3(body.encode()).digest(length=5))[:6]


def _letters(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


class Token(Struct, frozen=True):
    """What is known of a token: everything but the token. ``expires`` and ``created`` are Unix milliseconds; ``number``
    is that of its space, which stays when the space is renamed."""

    label: str
    number: int
    space: str
    rights: tuple[Right, ...]
    hash: bytes
    created: int
    expires: int | None = None

    def is_valid(self, now: int) -> bool:
        """Whether it has not expired, in Unix milliseconds."""
        return self.expires is None or now < self.expires

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{label, space, rights, created, expires?}``, times in RFC 3339."""
        expires = {} if self.expires is None else {"expires": from_milliseconds(self.expires).isoformat()}
        created = from_milliseconds(self.created).isoformat()
        return {"label": self.label, "space": self.space, "rights": list(self.rights), "created": created, **expires}


def find_token(tokens: Iterable[Token], text: str, now: int) -> Token | None:
    """The token of a text, if it is known and has not expired.

    Every hash is compared, each in constant time, so the duration tells nothing about the known ones.
    """
    if not is_token(text):
        return None
    wanted, found = token_hash(text), None
    for each in tokens:
        if hmac.compare_digest(each.hash, wanted):
            found = each
    return found if found is not None and found.is_valid(now) else None
