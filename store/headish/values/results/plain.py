"""Results as plain data that ``json.dumps`` takes, with the names of the fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from headish.errors import HeadishError


class PlainResult(Struct, frozen=True):
    """A result with a ``to_dict`` that takes field by field."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the fields by their names, after the ``kind`` of a change; times in RFC 3339.

        An empty field is left out if the JSON of the result leaves it out.
        """
        kind = getattr(self, "kind", None)
        record: dict[str, Any] = {"kind": kind} if isinstance(kind, str) else {}
        for field in _fields(type(self)):
            value = getattr(self, field.name)
            default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            if not (self.__struct_config__.omit_defaults and value == default):
                record[field.encode_name] = as_plain(value)
        return record


_fields = cache(fields)  # msgspec makes them anew each time, and a list may have many results


def as_plain(value: Any) -> Any:
    """A value of a field as plain data."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): as_plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [as_plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, HeadishError):
        return str(value)
    return msgspec.to_builtins(value)
