"""How options merge down a thread (rule I8, options merge): RFC 7396, JSON Merge Patch.

Records merge key by key, any other value (lists too) replaces, ``null`` removes the key. No argument is modified.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def merge(target: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """``target`` with ``patch`` applied; a target that is not a record counts as an empty one.

    Source: RFC 7396 §2, the function MergePatch.
    """
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = merge(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def fold(patches: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All patches applied in order; later ones win."""
    options: dict[str, Any] = {}
    for patch in patches:
        options = merge(options, patch)
    return options


def combine(patch: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """One patch that does what ``patch`` and then ``later`` do: like ``merge``, but ``null`` is kept to act later."""
    combined = dict(patch)
    for key, value in later.items():
        before = combined.get(key)
        both = isinstance(value, Mapping) and isinstance(before, Mapping)
        combined[key] = combine(before, value) if both else value  # type: ignore[arg-type]
    return combined
