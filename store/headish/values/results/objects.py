"""Objects: values that a program keeps beside its turns, under a kind and a key."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import datetime
from typing import Any

from msgspec import Struct

from headish.errors import InvalidArgument, shown
from headish.values.limits import OBJECT_KEY_LIMIT_BYTES, OBJECT_KIND_LIMIT

USAGE = "headish/usage"
"""The kind of objects that hold the usage of an answer if it came later, under the id of its turn: JSON with
``provider``, ``model`` and ``usage``. ``usage`` and ``cost`` count it as if the turn had it."""
_KIND = re.compile(rf"[a-z0-9][a-z0-9._/-]{{0,{OBJECT_KIND_LIMIT - 1}}}", re.ASCII)


class Object(Struct, frozen=True):
    """A value of an application. ``revision`` is another number after each change; ``time`` is that of the last, in
    UTC."""

    kind: str
    key: str
    revision: int
    data: bytes
    time: datetime

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{kind, key, revision, time, data}``, the data in Base64."""
        facts = {"kind": self.kind, "key": self.key, "revision": self.revision, "time": self.time.isoformat()}
        return {**facts, "data": b64encode(self.data).decode()}


def check_kind(kind: object) -> str:
    """Check a kind of objects: small letters and digits, with ``.``, ``_``, ``-`` and ``/`` after the first.

    Raises: InvalidArgument.
    """
    if not isinstance(kind, str) or _KIND.fullmatch(kind) is None:
        raise InvalidArgument(
            f"a kind of objects has 1 to {OBJECT_KIND_LIMIT} of a-z, 0-9, '.', '_', '-' and '/', and begins with a"
            f" letter or digit; this one is {shown(kind)}"
        )
    return kind


def check_key(key: object) -> bytes:
    """Check the key of an object, which may be any text, and return the stored bytes. Raises: InvalidArgument."""
    encoded = encode_key(key)
    if not encoded:
        raise InvalidArgument("the key of an object is empty")
    return encoded


def encode_key(key: object) -> bytes:
    """The bytes of a key, or of the beginning of one. Raises: InvalidArgument."""
    if not isinstance(key, str):
        raise InvalidArgument(f"the key of an object is text, not {type(key).__name__}")
    try:
        encoded = key.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"the key of an object holds a lone surrogate: {shown(key)}") from None
    if len(encoded) > OBJECT_KEY_LIMIT_BYTES:
        raise InvalidArgument(
            f"the key of an object has at most {OBJECT_KEY_LIMIT_BYTES:,} bytes in UTF-8, and this one {len(encoded):,}"
        )
    return encoded


def is_kind(kind: object) -> bool:
    """Whether ``check_kind`` takes it."""
    return isinstance(kind, str) and _KIND.fullmatch(kind) is not None
