"""Keep the order of keys. A value that is made from blocks equals the original, but its keys may have another order.
Frameworks hash their items, and providers' prompt caches compare them, so the order is kept if it differs.

An order is JSON: ``{"o": [keys]}`` for an object, ``{"k": {key: order}}`` and ``{"i": {index: order}}`` for values
inside an object or a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Order = dict[str, Any]


def order_of(made: Any, given: Any) -> Order | None:
    """The order of the keys of ``given``, an equal value of ``made``, where it differs; None if it is the same."""
    if isinstance(given, Mapping):
        own_order: Order = {} if list(made) == list(given) else {"o": list(given)}
        inner = {key: order for key, value in given.items() if (order := order_of(made[key], value)) is not None}
        return (own_order | {"k": inner} if inner else own_order) or None
    if isinstance(given, list):
        pairs = enumerate(zip(made, given, strict=True))
        listed = {str(at): order for at, (one, other) in pairs if (order := order_of(one, other)) is not None}
        return {"i": listed} if listed else None
    return None


def reorder(order: Order | None, value: Any) -> Any:
    """Return a value with its keys in this order. Keys that the order does not list come last."""
    if not isinstance(order, dict):
        return value
    if isinstance(value, dict):
        for key, inner in order.get("k", {}).items():
            if key in value:
                value[key] = reorder(inner, value[key])
        keys = order.get("o")
        if keys is not None:
            value = {key: value[key] for key in keys if key in value} | value
    elif isinstance(value, list):
        value = [reorder(order.get("i", {}).get(str(at)), each) for at, each in enumerate(value)]
    return value
