"""The OpenAPI 3.1 document of ``/api/v1``, from the table of verbs and the structs of their arguments."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.inspect import (
    DictType,
    ListType,
    StructType,
    Type,
    TypedDictType,
    UnionType,
    VarTupleType,
    multi_type_info,
)

from headish.aio import AsyncStore
from headish.aio.verbs import parts as fronts
from headish.serve.access.problems import phrase
from headish.serve.api.failures import failures
from headish.serve.api.shapes import ANSWERS, EVENTS, OPEN
from headish.serve.api.table import KEYED, VERBS, ApiVerb, BodyForm
from headish.values.limits import KEY_LIMIT_BYTES
from headish.version import __version__

FILE = "examples.json"
_REF = "#/components/schemas/{name}"
_BYTES: dict[str, Any] = {}


@cache
def examples() -> dict[str, dict[str, Any]]:
    """The examples by the name of the verb: its ``query`` or ``request``, and its ``answer`` or ``events``. They are
    from a real server; `make examples` records them."""
    by_verb: dict[str, dict[str, Any]] = msgspec.json.decode(files("headish.serve.api").joinpath(FILE).read_bytes())
    return by_verb


class ProblemDetails(Struct, frozen=True):
    """RFC 9457: what is wrong. ``code`` is the class of the error, ``facts`` are its attributes."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    facts: dict[str, Any] | UnsetType = UNSET


@cache
def document() -> bytes:
    """The document as indented JSON: the same bytes for the same table."""
    return msgspec.json.format(msgspec.json.encode(describe()), indent=2) + b"\n"


def describe() -> dict[str, Any]:
    """Make the document."""
    in_bodies = [verb.arguments for verb in VERBS if _has_body(verb)]
    _, components = msgspec.json.schema_components([*in_bodies, ProblemDetails], ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "headish", "version": __version__, "description": "The verbs of a store, under their names.",
                 "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in dict.fromkeys(map(_tag, VERBS))],
        "paths": _clear({verb.path: {verb.method.lower(): _operation(verb)} for verb in VERBS}),
        "components": {
            "schemas": {
                name: _clear(_told(each)) for name, each in sorted((components | _answer_components()).items())
            },
            "responses": dict(sorted(_problems().items())),
            "parameters": {"space": _SPACE} | _HEADERS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _told(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the margin of a description. Docstrings have one up to Python 3.12 and none since 3.13, and the document
    must be the same on both."""
    return schema | ({"description": cleandoc(schema["description"])} if "description" in schema else {})


def _clear(schema: Any) -> Any:
    """Make explicit what a schema leaves open: an object that names no keys may have any, and enumerated words are
    strings. Tools that generate types would otherwise take such an object for one without keys."""
    if isinstance(schema, list):
        return [_clear(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # Examples and defaults are values, in which a key called "type" or "enum" is data.
    cleared = {name: each if name in ("example", "default") else _clear(each) for name, each in schema.items()}
    if cleared.get("type") == "object" and not {"properties", "additionalProperties"} & cleared.keys():
        cleared["additionalProperties"] = True
    if isinstance(cleared.get("enum"), list) and "type" not in cleared:
        cleared["type"] = "string"
    return cleared


def _has_body(verb: ApiVerb) -> bool:
    return verb.method == "POST" and verb.form is not BodyForm.BODY


def _tag(verb: ApiVerb) -> str:
    return verb.part or "store"


def _operation(verb: ApiVerb) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": verb.name,
        "tags": [_tag(verb)],
        "summary": summary_of(verb),
        "description": f"Takes the right {verb.right!r}.",
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in ("space", *_headers(verb))]
        + ([] if _has_body(verb) else _parameters(verb)),
        "responses": {"200": _answer(verb)},
    }
    if verb.method == "GET" and verb.form is not BodyForm.EVENTS:
        operation["responses"]["304"] = {"description": "What If-None-Match names has not changed."}
    for status, codes in failures(verb).items():
        operation["responses"][str(status)] = {"$ref": f"#/components/responses/{_problem_name(codes)}"}
    example = examples().get(verb.name, {})
    if verb.form is BodyForm.BODY:
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": _BYTES}}}
    elif _has_body(verb):
        schema = {"$ref": _REF.format(name=verb.arguments.__name__)}
        content = {"schema": schema} | ({"example": example["request"]} if "request" in example else {})
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def summary_of(verb: ApiVerb) -> str:
    """The first sentence of the verb's docstring in the store."""
    front: Any = getattr(AsyncStore, verb.part).fget if verb.part else AsyncStore
    kind = getattr(fronts, front.__annotations__["return"]) if verb.part else front
    docstring = " ".join((getattr(kind, verb.function).__doc__ or "").split())
    return docstring.partition(". ")[0].rstrip(".").replace("``", "`") or verb.name


_SPACE = {
    "name": "space", "in": "query", "required": False, "schema": {"type": "string"},
    "description": "The space; without it that of the token, else the server's.",
}  # fmt: skip


_HEADERS: dict[str, dict[str, Any]] = {
    each: {"name": header, "in": "header", "required": False, "schema": {"type": "string"} | more, "description": told}
    for each, header, more, told in (
        ("IfNoneMatch", "If-None-Match", {}, "ETags that you have; where one is still true, the answer is status 304."),
        ("IfMatch", "If-Match", {}, "The argument `expect`, or the ETag of the record to be changed."),
        ("IfAbsent", "If-None-Match", {"const": "*"}, "There must be nothing yet."),
        (
            "IdempotencyKey",
            "Idempotency-Key",
            {"minLength": 1, "maxLength": KEY_LIMIT_BYTES + len('""')},
            f"The argument `key`: at most {KEY_LIMIT_BYTES} characters, and quotes around them or none.",
        ),
    )
}


def _headers(verb: ApiVerb) -> list[str]:
    """The headers that a verb reads, besides those of all requests."""
    if verb.method == "GET":
        return [] if verb.form is BodyForm.EVENTS else ["IfNoneMatch"]
    expects = verb.right != "read" and "expect" in verb.arguments.__struct_fields__
    return [*(["IfMatch", "IfAbsent"] if expects else []), *(["IdempotencyKey"] if verb.name in KEYED else [])]


def _parameters(verb: ApiVerb) -> list[dict[str, Any]]:
    schema = msgspec.json.schema_components([verb.arguments], ref_template=_REF)[1][verb.arguments.__name__]
    required = set(schema.get("required", ()))
    example = examples().get(verb.name, {}).get("query", {})
    return [
        {"name": name, "in": "query", "required": name in required, "schema": each}
        | ({"example": example[name]} if name in example else {})
        for name, each in schema["properties"].items()
    ]


def _answer(verb: ApiVerb) -> dict[str, Any]:
    if verb.form is BodyForm.RAW:
        return {"description": "The bytes.", "content": {"application/octet-stream": {"schema": _BYTES}}}
    content: dict[str, Any] = {}
    example = examples().get(verb.name, {})
    if verb.name in ANSWERS:
        content["application/json"] = {"schema": answer_schema(verb.name)}
        content["application/json"] |= {"example": example["answer"]} if "answer" in example else {}
    if verb.form in (BodyForm.EVENTS, BodyForm.ANSWER):
        data = ", ".join(f"`{name}`: {kind.__name__}" for name, kind in EVENTS[verb.name].items())
        content["text/event-stream"] = {"schema": {"type": "string", "description": f"The data of the events. {data}."}}
        content["text/event-stream"] |= {"example": example["events"]} if "events" in example else {}
    return {"description": "What the verb gives, as its to_dict() says it.", "content": content}


def answer_schema(name: str) -> dict[str, Any]:
    """The schema of a verb's answer."""
    ((schema,), _) = msgspec.json.schema_components([ANSWERS[name]], ref_template=_REF)
    return schema


def _answer_components() -> dict[str, Any]:
    """The schemas of the types in answers. A struct that always encodes all fields requires all of them."""
    types = [*ANSWERS.values(), *(kind for kinds in EVENTS.values() for kind in kinds.values())]
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    for name in OPEN:
        schemas[name]["additionalProperties"] = True
    for kind in _structs_of(multi_type_info(types)):
        # msgspec calls a field with a default optional, although such a struct always encodes it.
        if not kind.__struct_config__.omit_defaults:
            schemas[kind.__name__]["required"] = list(kind.__struct_encode_fields__)
    return schemas


def _structs_of(kinds: Iterable[Type]) -> set[type[Struct]]:
    structs: set[type[Struct]] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, StructType):
            if kind.cls in structs:
                continue
            structs.add(kind.cls)
        if isinstance(kind, StructType | TypedDictType):
            waiting += [field.type for field in kind.fields]
        elif isinstance(kind, UnionType):
            waiting += kind.types
        elif isinstance(kind, ListType | VarTupleType):
            waiting.append(kind.item_type)
        elif isinstance(kind, DictType):
            waiting.append(kind.value_type)
    return structs


def _problem_name(codes: tuple[str, ...]) -> str:
    return "_".join(codes)


def _problems() -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="ProblemDetails")}
    return {
        _problem_name(codes): {
            "description": f"{phrase(status)}: {', '.join(codes)}.",
            "content": {"application/problem+json": {"schema": schema}},
        }
        for verb in VERBS
        for status, codes in failures(verb).items()
    }
