"""Decode values of LangGraph's checkpoints as data. Classes are named and never revived: nothing of a file is imported
or run.

A value is msgpack, in which objects are extensions that hold a module, a class and its arguments; or JSON, in which
they are constructors. Both become ``Revivable``. A pickle is not decoded.

Source: langgraph-checkpoint 4.3.2, ``serde/jsonplus.py``, read 2026-11-22.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from headish.imports.cleaning import NotJson, decode
from headish.values.limits import IMPORT_LINE_BYTES, NESTING_LIMIT

_ARRAY, _SNAPSHOT = 6, 7
_SWELLS = 8
"""Nested objects are copied once for each level: together they may have this many times the bytes of a value."""
_EMPTY = ("null", "empty")


class Revivable(NamedTuple):
    """An object as the file describes it: its class, and what it was made from."""

    module: str
    name: str
    value: Any


class Unreadable(ValueError):
    """A value that cannot be decoded as data; the message says why."""


class CheckpointDecoder:
    """Decodes values. Equal bytes give the same object again, because each checkpoint repeats most of the last one."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], Revivable] = {}
        self._known_bytes = self._room = 0

    def read(self, kind: object, data: object) -> Any:
        """Decode a value by the type that its row gives. Raises: Unreadable."""
        if kind in _EMPTY or data is None:
            return None
        if isinstance(data, str):
            data = data.encode()
        if not isinstance(data, bytes):
            raise Unreadable(f"a {type(data).__name__} where bytes belong")
        if kind == "msgpack":
            self._room = _SWELLS * len(data)
            return self._unpack(data, 0)
        if kind == "json":
            try:
                return _constructed(decode(data)[0], 0)
            except NotJson as error:
                raise Unreadable(str(error)) from None
        if kind in ("bytes", "bytearray"):
            return data
        raise Unreadable(f"a value of type {kind!r:.60} is not looked into")

    def _unpack(self, data: bytes, depth: int) -> Any:
        if depth > NESTING_LIMIT // 4:
            raise Unreadable("objects are nested too deep")

        def take(code: int, inner: memoryview) -> Any:
            # Each level of nesting is unpacked again, so without a bound a small value could take hours.
            self._room -= len(inner)
            if self._room < 0:
                raise Unreadable("objects are nested too deep")
            place = (code, bytes(inner))
            found = self._known.get(place)
            return self._keep(place, depth) if found is None else found

        try:
            return msgspec.msgpack.decode(data, ext_hook=take)
        except Unreadable:
            raise
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
            raise Unreadable(f"it is not msgpack: {error}") from None

    def _keep(self, place: tuple[int, bytes], depth: int) -> Revivable:
        code, inner = place
        revivable = _extension(code, self._unpack(inner, depth + 1))
        self._known_bytes += len(inner)
        # Forget all: no more is remembered than one value may have.
        if self._known_bytes > IMPORT_LINE_BYTES:
            self._known, self._known_bytes = {}, len(inner)
        self._known[place] = revivable
        return revivable


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON can hold it; an object gives its class under ``$``."""
    if depth > NESTING_LIMIT // 2:
        return "…"
    if isinstance(value, Revivable):
        return {"$": f"{value.module}.{value.name}", "value": plain(value.value, depth + 1)}
    if isinstance(value, bytes):
        return {"$": "bytes", "base64": b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else repr(plain(key)): plain(each, depth + 1) for key, each in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each, depth + 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _extension(code: int, inner: Any) -> Revivable:
    """Return the module, the class and what it was made from; for an array its type and shape, without its numbers."""
    if code == _ARRAY:
        return Revivable("numpy", "ndarray", list(inner[:2]) if isinstance(inner, list) else None)
    if code == _SNAPSHOT:
        return Revivable("langgraph", "DeltaSnapshot", inner)
    if not isinstance(inner, list) or len(inner) < 3 or not all(isinstance(each, str) for each in inner[:2]):
        return Revivable("", f"extension {code}", inner)
    return Revivable(inner[0], inner[1], inner[2])


def _constructed(value: Any, depth: int) -> Any:
    """Return JSON with its constructors (``{"lc": …, "type": "constructor", "id": […], "kwargs": …}``) as objects."""
    if depth > NESTING_LIMIT:
        raise Unreadable("it is nested too deep")
    if isinstance(value, list):
        return [_constructed(each, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {key: _constructed(each, depth + 1) for key, each in value.items()}
    id = fields.get("id")
    if "lc" in fields and fields.get("type") == "constructor" and isinstance(id, list) and id:
        return Revivable(".".join(map(str, id[:-1])), str(id[-1]), fields.get("kwargs", fields.get("args")))
    return fields
