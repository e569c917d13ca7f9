"""Read the messages of an API from a file, one conversation: a body, the list alone, or one message on each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from headish.content import strictjson
from headish.errors import HeadishError, InvalidImport, TooLarge
from headish.imports.readers.format_checks import refuse_encoding
from headish.imports.source_files import BOM
from headish.transcripts import Transcript, from_anthropic, from_chat, from_responses
from headish.values.limits import IMPORT_LINE_BYTES

API_READERS: dict[str, Callable[[Any], Transcript]] = {
    "chat": from_chat, "responses": from_responses, "anthropic": from_anthropic,
}  # fmt: skip
"""Each API's reader. The turns are those of ``Store.record``: no format is stored with them."""
LISTS = {"chat": "messages", "responses": "input", "anthropic": "messages"}
"""The key of the list of messages in the body of each API."""
_MANY = "openai-finetune"


def read_api(file: BinaryIO, name: str, format: str) -> tuple[Transcript, int]:
    """Return the conversation of a file, and its size.

    Raises: InvalidImport for a file that is not JSON or holds several conversations; InvalidInterchange; TooLarge.
    """
    data = file.read(IMPORT_LINE_BYTES + 1)
    if len(data) > IMPORT_LINE_BYTES:
        raise TooLarge("JSON", len(data), IMPORT_LINE_BYTES)
    refuse_encoding(data, name)
    value = _decode(data.removeprefix(BOM), name)
    return API_READERS[format](_as_body(value, name, format)), len(data)


def _decode(data: bytes, name: str) -> Any:
    try:
        return strictjson.decode(data, "the file")
    except HeadishError as error:
        # Not JSON as a whole, so perhaps JSON lines. One value alone is not: its own error says more.
        values = _decode_lines(data)
        if len(values) > 1:
            return values
        reason = "the file is empty" if not data.strip() else str(error).removeprefix("the file cannot be kept: ")
        raise InvalidImport(name, None, reason) from None


def _decode_lines(data: bytes) -> list[Any]:
    """Return the values of JSON lines; an empty list for anything else."""
    try:
        return [strictjson.decode(line, "the line") for line in data.split(b"\n") if line.strip()]
    except HeadishError:
        return []


def _as_body(value: Any, name: str, format: str) -> Any:
    """Return a list of messages as the body of a request; a body unchanged.

    Raises: InvalidImport for a list of anything else.
    """
    if not isinstance(value, list):
        return value
    if value and all(_is_said(each, format) for each in value):
        return {LISTS[format]: value}
    if len(value) == 1 and isinstance(value[0], dict):
        return value[0]
    expected = f"expected is one conversation: a list of messages, or an object with `{LISTS[format]}`"
    raise InvalidImport(name, None, f"it is {_described(value)}; {expected}{_way_out(value)}")


def _is_said(each: Any, format: str) -> bool:
    if not isinstance(each, Mapping):
        return False
    return "role" in each or (format == "responses" and isinstance(each.get("type"), str))


def _described(value: list[Any]) -> str:
    if not value:
        return "an empty list"
    kinds = {_kind(each) for each in value}
    return f"a list of {len(value):,} {kinds.pop() if len(kinds) == 1 else 'values of several kinds'}"


def _kind(each: Any) -> str:
    if isinstance(each, Mapping):
        held = next((key for key in ("messages", "input", "conversations", "prompt", "body") if key in each), None)
        return "objects" if held is None else f"records with `{held}`"
    return "lists" if isinstance(each, list) else "values"


def _way_out(value: list[Any]) -> str:
    many = value and all(_kind(each).startswith("records") for each in value)
    return f". Import many with --from {_MANY} (format= in Python)" if many else ""
