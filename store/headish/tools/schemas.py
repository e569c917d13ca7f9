"""Check arguments against their JSON Schema. The validator is the extra ``tools``, imported if a tool has a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.errors import InvalidArgument, InvalidCall


def _validator() -> Any:
    try:
        import jsonschema  # late: needed only if a tool has a schema
    except ImportError:
        raise InvalidArgument("checking schemas needs the extra: pip install 'headish[tools]'") from None
    return jsonschema


def check_schema(schema: Mapping[str, Any]) -> None:
    """Check a schema. Raises: InvalidArgument for a value that is not a JSON Schema."""
    jsonschema = _validator()
    try:
        jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator).check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InvalidArgument(f"this is not a JSON Schema: {error.message}") from None


def check_arguments(name: str, arguments: Any, schema: Mapping[str, Any]) -> None:
    """Check arguments against a schema. Raises: InvalidCall with the first part that does not fit, by its path."""
    jsonschema = _validator()
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    # An empty registry: the default one would fetch an address to which a schema refers.
    errors = kind(schema, registry=Registry()).iter_errors(arguments)
    try:
        first = min(errors, key=lambda error: str(error.json_path), default=None)
    except Unresolvable as error:
        raise InvalidCall(name, f"its schema refers to something that does not exist: {error}") from None
    if first is not None:
        raise InvalidCall(name, f"{first.message[:200]} (at {first.json_path})")
