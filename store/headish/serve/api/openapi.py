"""The OpenAPI 3.1 document of ``/api/v1``, from the table of verbs and the structs of their arguments."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from headish.serve.api.table import VERBS, Form, Verb
from headish.version import __version__

_REF = "#/components/schemas/{name}"
_ANY: dict[str, Any] = {}


class ProblemDetails(Struct, frozen=True):
    """RFC 9457: what is wrong. ``code`` is the class of the error."""

    type: str
    title: str
    status: int
    code: str
    detail: str


@cache
def document() -> bytes:
    """The document as indented JSON: the same bytes for the same table."""
    return msgspec.json.format(msgspec.json.encode(describe()), indent=2) + b"\n"


def describe() -> dict[str, Any]:
    """The document."""
    in_bodies = [verb.arguments for verb in VERBS if _has_body(verb)]
    _, components = msgspec.json.schema_components([*in_bodies, ProblemDetails], ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "headish", "version": __version__, "description": "The verbs of a store, under their names."},
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "paths": {verb.path: {verb.method.lower(): _operation(verb)} for verb in VERBS},
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _has_body(verb: Verb) -> bool:
    return verb.method == "POST" and verb.form is not Form.BODY


def _operation(verb: Verb) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": verb.name,
        "description": f"Store.{verb.name}. Takes the right {verb.right!r}.",
        "parameters": [_space(), *([] if _has_body(verb) else _parameters(verb))],
        "responses": {"200": _answer(verb), "default": _problem()},
    }
    if verb.method == "GET" and verb.form is not Form.EVENTS:
        made["responses"]["304"] = {"description": "What If-None-Match names has not changed."}
    if verb.form is Form.BODY:
        made["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": _ANY}}}
    elif _has_body(verb):
        schema = {"$ref": _REF.format(name=verb.arguments.__name__)}
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return made


def _space() -> dict[str, Any]:
    told = "The space; without it that of the token, else the server's."
    return {"name": "space", "in": "query", "required": False, "description": told, "schema": {"type": "string"}}


def _parameters(verb: Verb) -> list[dict[str, Any]]:
    schema = msgspec.json.schema_components([verb.arguments], ref_template=_REF)[1][verb.arguments.__name__]
    required = set(schema.get("required", ()))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": each}
        for name, each in schema["properties"].items()
    ]


def _answer(verb: Verb) -> dict[str, Any]:
    kinds = {Form.RAW: ["application/octet-stream"], Form.EVENTS: ["text/event-stream"],
             Form.ANSWER: ["application/json", "text/event-stream"]}  # fmt: skip
    content = {kind: {"schema": _ANY} for kind in kinds.get(verb.form, ["application/json"])}
    return {"description": "What the verb gives, as its to_dict() says it.", "content": content}


def _problem() -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="ProblemDetails")}
    return {"description": "What is wrong.", "content": {"application/problem+json": {"schema": schema}}}
