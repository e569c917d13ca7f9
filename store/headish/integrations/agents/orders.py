"""Keep the order of an item's keys. An item that is made from blocks says the same as the original but may have its
keys in another order. Frameworks hash their items, and providers' caches compare them, so a different order is stored.

An order is JSON: ``{"o": [keys]}`` for an object, and ``{"k": {key: order}}`` and ``{"i": {index: order}}`` for the
values inside an object or a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Order = dict[str, Any]


def order_of(made: Any, given: Any) -> Order | None:
    """The order of the keys of ``given``; None if ``made``, which has the same keys, has them in the same order."""
    if isinstance(given, Mapping):
        found: Order = {} if list(made) == list(given) else {"o": list(given)}
        inner = {key: order for key, value in given.items() if (order := _inside(made[key], value)) is not None}
        return (found | {"k": inner} if inner else found) or None
    if isinstance(given, list):
        pairs = enumerate(zip(made, given, strict=True))
        listed = {str(at): order for at, (one, other) in pairs if (order := _inside(one, other)) is not None}
        return {"i": listed} if listed else None
    return None


def reorder(order: Order | None, value: Any) -> Any:
    """Return a value with its keys in an order; keys that the order does not list come last. Changes ``value``."""
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


def _inside(made: Any, given: Any) -> Order | None:
    return order_of(made, given) if isinstance(given, Mapping | list) else None
