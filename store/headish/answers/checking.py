"""Check what a model answered against the schema that was asked for. The answer is kept in any case."""

from __future__ import annotations

from typing import Any

from headish.answers.journal import About
from headish.content import strictjson
from headish.errors import InvalidArgument, InvalidCall, InvalidContent
from headish.providers.shared.values import Reply
from headish.values.blocks import join_texts

PROBLEM_LIMIT = 500
"""So many characters are kept of what does not fit."""


def check_reply(about: About, reply: Reply) -> dict[str, Any]:
    """What a turn keeps of the check: nothing where the answer follows its schema; ``{schema_error}`` where it does
    not; ``{schema_unchecked}``, with the reason, where that cannot be told.

    An answer that calls a tool, was cut off or refused is none that the schema is about.
    """
    if about.schema is None or reply.incomplete or reply.stop_reason not in ("end_turn", "stop_sequence"):
        return {}
    try:
        problem = find_problem(about.schema, join_texts(reply.content))
    except InvalidArgument as error:  # there is no validator, or it is no schema
        return {"schema_unchecked": str(error)[:PROBLEM_LIMIT]}
    except RecursionError:
        return {"schema_unchecked": "the answer nests too deep for its schema"}
    return {} if problem is None else {"schema_error": problem[:PROBLEM_LIMIT]}


def find_problem(schema: dict[str, Any], text: str) -> str | None:
    """Why a text does not follow a schema, in one sentence; None where it does. Nothing that the schema refers to is
    fetched.

    Raises: InvalidArgument for what is no schema, or without the extra ``tools``; RecursionError.
    """
    from headish.tools.schemas import check_arguments, check_schema  # late: they bring the validator

    try:
        value = strictjson.decode(text, "the answer")
    except InvalidContent as error:
        return f"it is no JSON: {error.reason}"
    check_schema(schema)
    try:
        check_arguments("the answer", value, schema)
    except InvalidCall as error:
        return error.reason
    return None
