"""Tool definitions as the TypeScript namespace that Harmony's renderer writes, and OpenChatML 2.2 §16.2 shows::

    namespace functions {

    // Gets weather for a city.
    type get_current_weather = (_: {
    // The city and state
    location: string,
    format?: "celsius" | "fahrenheit", // default: celsius
    }) => any;

    } // namespace functions

Source: Harmony's docs/format.md, "Function calling", and src/encoding.rs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headish.transcripts.shared.jsontext import quote

_TYPES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
_DEEPEST = 32
"""Deeper schemas are written as ``any``."""


def write_namespace(functions: Sequence[Mapping[str, Any]]) -> str:
    """The namespace of functions that have a name, a description and parameters."""
    lines = ["namespace functions {", ""]
    for function in functions:
        lines += [*_comment(function.get("description")), _write_function(function), ""]
    return "\n".join([*lines, "} // namespace functions"])


def _write_function(function: Mapping[str, Any]) -> str:
    schema = function.get("parameters")
    has_some = isinstance(schema, Mapping) and bool(schema.get("properties"))
    return f"type {function.get('name')} = ({f'_: {_write_type(schema, 0)}' if has_some else ''}) => any;"


def _write_type(schema: Any, depth: int) -> str:
    """A JSON Schema as a type; whatever has no type of its own is ``any``."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    choices = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(choices, list):
        return " | ".join(_write_type(choice, depth + 1) for choice in choices)
    if isinstance(schema.get("enum"), list):
        return " | ".join(quote(value) for value in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_write_type({**schema, "type": each}, depth + 1) for each in kind)
    if kind == "array":
        inner = _write_type(schema.get("items"), depth + 1)
        # Without the parentheses only the last choice would be an array.
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object" or "properties" in schema:
        return _write_object(schema, depth)
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _write_object(schema: Mapping[str, Any], depth: int) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "object"
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    lines = ["{"]
    for name, described in properties.items():
        about = described if isinstance(described, Mapping) else {}
        mark = "" if name in needed else "?"
        lines += _comment(about.get("description"))
        lines.append(f"{name}{mark}: {_write_type(described, depth + 1)},{_default(about)}")
    return "\n".join([*lines, "}"])


def _default(schema: Mapping[str, Any]) -> str:
    if "default" not in schema:
        return ""
    value = schema["default"]
    # Harmony's renderer writes the default of an enum without quotes. A line break would end the comment.
    bare = isinstance(value, str) and "enum" in schema and "\n" not in value
    return f" // default: {value if bare else quote(value)}"


def _comment(text: Any) -> Iterator[str]:
    """A description as comment lines."""
    for line in str(text).splitlines() if text else ():
        yield f"// {line}"
