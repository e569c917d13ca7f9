"""A dialect in words: a sentence for each thing that it changes."""

from __future__ import annotations

from collections.abc import Iterator

from headish.providers.dialects.choosing import find_dialect
from headish.providers.dialects.values import PARTS, Dialect

OPENAI_LIMIT = "max_completion_tokens"


def describe_dialect(name: str) -> list[str]:
    """What a dialect changes, a sentence each, in a fixed order. Raises: UnknownFormat."""
    return list(_sentences(find_dialect(name)))


def _sentences(dialect: Dialect) -> Iterator[str]:
    yield _reasoning(dialect)
    if dialect.details:
        yield "reasoning_details go back instead, where an answer has them"
    if dialect.tags:
        yield f"<{dialect.tags[0]}> at the beginning of an answer is read as reasoning, and goes back as it came"
    if dialect.keys is not None:
        yield f"the further keys of an answer that go back: {', '.join(dialect.keys) or 'none'}"
    yield f"the limit of an answer is sent as {dialect.places.get('max_tokens', OPENAI_LIMIT)}"
    if dialect.roles:
        yield "developer messages are sent as system"
    if not dialect.lists:
        yield "content is always one text, never a list of texts"
    if dialect.ids is not None:
        yield f"ids of calls have {dialect.ids} letters or digits: others are rewritten"
    for parameter, place in dialect.places.items():
        if parameter != "max_tokens":
            yield f"{parameter} is sent as {place}"
    for feature, reason in dialect.refused.items():
        yield f"refused: {feature} ({reason})"
    for feature, reason in dialect.ignored.items():
        yield f"left out, with a note: {feature} ({reason})"


def _reasoning(dialect: Dialect) -> str:
    if dialect.reasoning is None:
        return "reasoning does not go back"
    if dialect.reasoning == PARTS:
        return "reasoning goes back as a part of the content"
    always = ", in every answer, empty where nothing was thought" if dialect.fills else ""
    return f"reasoning goes back as {dialect.reasoning}{always}"
