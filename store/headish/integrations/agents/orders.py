"""The order of keys. A value that is put together from blocks says the same as the one that was given, in another
order; frameworks hash their items, and providers' caches compare them, so the order is kept where it differs.

An order is JSON: ``{"o": [keys]}`` of an object, ``{"k": {key: order}}`` and ``{"i": {index: order}}`` of what is
inside an object or a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Order = dict[str, Any]


def order_of(made: Any, given: Any) -> Order | None:
    """How the keys of ``given`` stand, where ``made`` has the same in another order; None where nothing differs."""
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
    """A value with its keys in an order; keys that the order does not know stand behind."""
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
