"""What a turn keeps beside an answer's content: as much of the provider's own report as fits, and whether the answer
follows the schema that was asked for. The answer itself is kept in any case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content import strictjson
from headish.errors import InvalidArgument, InvalidCall, InvalidContent
from headish.providers.shared.values import Reply
from headish.store.answers.journal import About
from headish.values.blocks import join_texts
from headish.values.limits import MAPPING_LIMIT_BYTES

_NOTE_BYTES = 300
"""The most bytes that the note about what was dropped can take."""


def trim_reply(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The meta of a reply with as many of its details as fit, in order, and a note of how much was dropped.

    A list keeps its first items, an object the keys that fit; a text is kept whole or not at all. Without details the
    meta always fits: everything else in it is short.
    """
    whole = kept.get("details", {})
    brief = {key: value for key, value in kept.items() if key != "details"}
    details = _fit(whole, MAPPING_LIMIT_BYTES - _size({"reply": brief}) - _NOTE_BYTES)
    size = _size(whole)
    note = f"{size - _size(details):,} of the {size:,} bytes that the provider said beside the answer are not kept"
    notes = [*kept.get("notes", ()), f"{note}: a turn holds no more"]
    return brief | ({"details": details} if details else {}) | {"notes": notes}


def _fit(value: Mapping[str, Any], limit_bytes: int) -> dict[str, Any]:
    fitting: dict[str, Any] = {}
    room = limit_bytes - len("{}")
    for key, each in value.items():
        key_size = _size(key) + len(":,")
        part = each if key_size + _size(each) <= room else _part(each, room - key_size)
        if part is not None:
            fitting[key] = part
            room -= key_size + _size(part)
    return fitting


def _part(value: Any, limit_bytes: int) -> Any:
    """As much of a value as fits; None if nothing does."""
    if isinstance(value, Mapping):
        return _fit(value, limit_bytes) or None
    if not isinstance(value, list):
        return None
    items: list[Any] = []
    room = limit_bytes - len("[]")
    for item in value:
        room -= _size(item) + len(",")
        if room < 0:
            break
        items.append(item)
    return items or None


def _size(value: Any) -> int:
    return len(strictjson.encode(value))


PROBLEM_LIMIT = 500
"""The most characters that are kept of a problem with a schema."""


def check_reply(about: About, reply: Reply) -> dict[str, Any]:
    """Check an answer against its schema, and return what its turn keeps: nothing if it follows the schema,
    ``{schema_error}`` if it does not, ``{schema_unchecked}`` with the reason if it cannot be checked.

    An answer that calls a tool, was cut off or refused is not checked.
    """
    if about.schema is None or reply.incomplete or reply.stop_reason not in ("end_turn", "stop_sequence"):
        return {}
    try:
        problem = find_problem(about.schema, join_texts(reply.content))
    except InvalidArgument as error:  # the validator is not installed, or this is not a schema
        return {"schema_unchecked": str(error)[:PROBLEM_LIMIT]}
    except RecursionError:
        return {"schema_unchecked": "the answer nests too deep for its schema"}
    return {} if problem is None else {"schema_error": problem[:PROBLEM_LIMIT]}


def find_problem(schema: dict[str, Any], text: str) -> str | None:
    """Why a text does not follow a schema, in one sentence; None if it does. References of the schema are not fetched.

    Raises: InvalidArgument if it is not a schema, or without the extra ``tools``; RecursionError.
    """
    from headish.tools.schemas import check_arguments, check_schema  # late: they bring the validator

    try:
        value = strictjson.decode(text, "the answer")
    except InvalidContent as error:
        return f"it is not JSON: {error.reason}"
    check_schema(schema)
    try:
        check_arguments("the answer", value, schema)
    except InvalidCall as error:
        return error.reason
    return None
