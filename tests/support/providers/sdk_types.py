"""The official SDKs' own types as strict checks: no key that they do not know, no value of another kind.

Used by the tests of every provider whose SDK has typed dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from typing_extensions import get_type_hints, is_typeddict


@cache
def strict(kind: Any) -> TypeAdapter[Any]:
    """A validator of typed dicts, with unknown keys forbidden in all of them. Making one takes a while: once each."""
    _forbid(kind, set())
    return TypeAdapter(kind)


def check_strictly(adapter: TypeAdapter[Any], body: Any) -> None:
    """Validate a body with every list in it. Raises: pydantic's ValidationError, which is a ValueError."""
    _exhaust(adapter.validate_python(body))


def _forbid(kind: Any, seen: set[Any]) -> None:
    for inner in get_args(kind):
        _forbid(inner, seen)
    if is_typeddict(kind) and kind not in seen:
        seen.add(kind)
        kind.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}
        for hint in get_type_hints(kind, include_extras=True).values():
            _forbid(hint, seen)


def _exhaust(value: Any) -> None:
    """Read what pydantic validates only while it is read; a model may not hold a key that its class does not have."""
    if isinstance(value, BaseModel):
        if value.model_extra:
            raise ValueError(f"{type(value).__name__} does not know {', '.join(value.model_extra)}")
        _exhaust(dict(value))
    elif isinstance(value, Mapping):
        _exhaust(value.values())
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for each in value:
            _exhaust(each)
