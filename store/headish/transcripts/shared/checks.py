"""API JSON looked at key by key: what is of the wrong shape is refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.errors import InvalidInterchange


def refuse_keys(record: Mapping[str, Any], known: Iterable[str], target: str, path: str) -> None:
    """Refuse what a transcript does not carry. Raises: InvalidInterchange."""
    for key, value in record.items():
        if key not in known and value is not None and not (key == "annotations" and value == []):
            raise InvalidInterchange(target, f"the key {key!r}, which a transcript does not carry", path)


def list_of(data: Mapping[str, Any], key: str, target: str) -> list[Mapping[str, Any]]:
    """A list of objects under a key. Raises: InvalidInterchange."""
    listed = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise InvalidInterchange(target, f"{key} must be a list of objects", f"$.{key}")
    return listed


def optional_list(record: Mapping[str, Any], key: str, target: str, path: str) -> list[Any]:
    """A list under a key, empty where there is none. Raises: InvalidInterchange."""
    value = record.get(key)
    if not isinstance(value, list | None):
        raise InvalidInterchange(target, f"{key} must be a list", f"{path}.{key}")
    return value or []


def string(record: Mapping[str, Any], key: str, target: str, path: str) -> str:
    """A string under a key. Raises: InvalidInterchange."""
    value = record.get(key)
    if not isinstance(value, str):
        raise InvalidInterchange(target, f"{key} must be a string", f"{path}.{key}")
    return value
