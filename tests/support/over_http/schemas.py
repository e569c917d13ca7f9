"""Answers of the API held beside their schemas, which then allow nothing that they do not name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from headish.serve.api.openapi import answer_schema, document

OPEN = {"BlockRecord", "MetaRecord"}
"""These say themselves that they have more keys."""


@cache
def _components() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document())["components"]
    for name, schema in found["schemas"].items():
        if "properties" in schema and name not in OPEN:
            schema["additionalProperties"] = False
    return found


@cache
def _validator(name: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator({**answer_schema(name), "components": _components()})


def problems_of(name: str, answer: Any) -> list[str]:
    """What disagrees with the schema of what a verb gives."""
    return [f"{error.message} at {error.instance_path}" for error in _validator(name).iter_errors(answer)]


@cache
def statuses_of(name: str) -> frozenset[str]:
    """The statuses that the document names for a verb."""
    paths = json.loads(document())["paths"]
    ((_, operation),) = paths["/" + name.replace(".", "/")].items()
    return frozenset(operation["responses"])
