"""Answers of the API held beside their schemas, which then allow nothing that they do not name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from headish.serve.api.openapi import answer_schema, document
from headish.serve.api.shapes import EVENTS


@cache
def _components() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document())["components"]
    for schema in found["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return found


@cache
def _validator(name: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator({**answer_schema(name), "components": _components()})


def problems_of(name: str, answer: Any) -> list[str]:
    """What disagrees with the schema of what a verb gives."""
    return [f"{error.message} at {error.instance_path}" for error in _validator(name).iter_errors(answer)]


def problems_of_event(verb: str, kind: str, data: Any) -> list[str]:
    """What disagrees with the schema of the data of an event."""
    import jsonschema_rs

    schema = {"$ref": f"#/components/schemas/{EVENTS[verb][kind].__name__}", "components": _components()}
    return [f"{error.message} at {error.instance_path}" for error in jsonschema_rs.iter_errors(schema, data)]


@cache
def statuses_of(name: str) -> frozenset[str]:
    """The statuses that the document names for a verb."""
    paths = json.loads(document())["paths"]
    ((_, operation),) = paths["/" + name.replace(".", "/")].items()
    return frozenset(operation["responses"])
