"""A tool's schema in the form that a provider takes: keywords removed, choices at its top joined, arrays filled.

Only keywords change: a *property* of the same name is data, and stays. The functions look only at the places where JSON
Schema has a schema: an ``enum`` or ``default`` may hold anything.

Source: JSON Schema 2020-12, core, applicator and validation vocabularies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headish.values.shapes import listed, record, text

_SCHEMA = frozenset(
    ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems",
     "unevaluatedProperties")
)  # fmt: skip
"""Keywords whose value is a schema."""
_LIST = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
"""Keywords whose value is a list of schemas."""
_NAMED = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
"""Keywords whose value is an object of schemas by name."""
_JOINED = ("allOf", "anyOf", "oneOf")
_NOT_STRICT = frozenset(
    ("allOf", "dependentRequired", "dependentSchemas", "else", "if", "not", "oneOf", "patternProperties", "then")
)
"""Keywords that no API can enforce."""


def clean_schema(schema: Any, keywords: frozenset[str], dropped: dict[str, None]) -> Any:
    """The schema without these keywords, at every level; those that it had are added to ``dropped``."""
    if not isinstance(schema, Mapping):
        return schema  # true and false are schemas, too
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key in keywords:
            dropped[key] = None
        else:
            cleaned[key] = _inside(key, value, lambda each: clean_schema(each, keywords, dropped))
    return cleaned


def fill_arrays(schema: Any) -> Any:
    """The schema with ``items`` wherever an array has none: ``{}`` allows what its absence does."""
    if not isinstance(schema, Mapping):
        return schema
    filled = {key: _inside(key, value, fill_arrays) for key, value in schema.items()}
    kind = schema.get("type")
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    return {**filled, "items": {}} if is_array and "items" not in schema else filled


def join_top(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object's schema without ``allOf``, ``anyOf`` and ``oneOf`` at its top: one object with the properties of all
    branches.

    It allows more than before, never less: a property may be what any branch says it is, and of the branches of a
    choice only the properties that all of them require stay required. Without any of the three, the schema is the same.
    """
    joined = {key: value for key, value in schema.items() if key not in _JOINED}
    if len(joined) == len(schema):
        return joined
    properties = {name: [each] for name, each in record(schema.get("properties")).items()}
    required = dict.fromkeys(_required(schema))
    for key in _JOINED:
        branches = [_resolved(schema, record(branch)) for branch in listed(schema.get(key))]
        for branch in branches:
            for name, each in record(branch.get("properties")).items():
                properties.setdefault(name, []).append(each)
        requirements = [dict.fromkeys(_required(branch)) for branch in branches]
        names = (name for each in requirements for name in each)
        required |= {name: None for name in names if key == "allOf" or all(name in each for each in requirements)}
    joined |= {"properties": {name: _any_of(each) for name, each in properties.items()}} if properties else {}
    return joined | ({"required": list(required)} if required else {})


def strict_problem(schema: Any, path: str = "$") -> str | None:
    """Why no API can enforce a schema; None if it can.

    Each object has to name its properties, require all of them and allow no others. Of the keywords that choose between
    schemas only ``anyOf`` is known. Source: openai 3.54.0, ``lib/_pydantic.py``, which makes such schemas, and
    https://developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas", read on 2026-11-22.
    """
    if not isinstance(schema, Mapping):
        return f"{path} allows anything"
    if path == "$" and (schema.get("type") != "object" or "anyOf" in schema):
        return "$ is not an object"
    unknown = next((key for key in schema if key in _NOT_STRICT), None)
    if unknown is not None:
        return f"{path} has {unknown}"
    if schema.get("type") == "object" or "properties" in schema:
        properties, required = record(schema.get("properties")), set(_required(schema))
        if schema.get("additionalProperties") is not False:
            return f"{path} allows other properties (additionalProperties is not false)"
        optional = next((name for name in properties if name not in required), None)
        if optional is not None:
            return f"{path} does not require {optional[:80]!r}"
    return next((problem for problem in _problems_below(schema, path) if problem is not None), None)


def _problems_below(schema: Mapping[str, Any], path: str) -> Iterator[str | None]:
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, Mapping):
            yield from (strict_problem(each, f"{path}.{key}.{name}") for name, each in value.items())
        elif key in _LIST and isinstance(value, list):
            yield from (strict_problem(each, f"{path}.{key}[{index}]") for index, each in enumerate(value))
        elif key == "items":
            yield strict_problem(value, f"{path}.items")


def _required(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in listed(schema.get("required")) if isinstance(name, str)]


def _inside(key: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of a keyword with each schema in it changed."""
    if key in _NAMED and isinstance(value, Mapping):
        return {name: change(each) for name, each in value.items()}
    if key in _LIST and isinstance(value, list):
        return [change(each) for each in value]
    return change(value) if key in _SCHEMA else value


def _resolved(schema: Mapping[str, Any], branch: Mapping[str, Any]) -> Mapping[str, Any]:
    """A branch, or the part of the same schema that its ``$ref`` names."""
    reference = text(branch.get("$ref"))
    target: Any = schema
    for step in reference.removeprefix("#/").split("/"):
        target = record(target).get(step)
    return target if reference and isinstance(target, Mapping) else branch


def _any_of(schemas: list[Any]) -> Any:
    """One schema for a property that has several."""
    distinct = [each for index, each in enumerate(schemas) if each not in schemas[:index]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
