"""Read a server's report on batches value by value: it may contain anything, even the key of the call.

headish checks every value that it keeps or puts into an address. The values that it shows are short and hold no key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from headish.calls.remote import TOO_LONG, Remote
from headish.errors import UnreadableAnswer
from headish.providers.events.eventjson import Refusal, decode_event
from headish.values import shapes


class BatchRequest(NamedTuple):
    """A request of a batch: the id under which its answer comes back, and its body."""

    id: str
    body: Mapping[str, Any]


class Outcome(NamedTuple):
    """The outcome of a request: an answer in the form of the API itself, or an error ``{type, message}``.

    ``problem`` says what is wrong with a line that is neither; such a line may have no ``id``.
    """

    id: str | None
    response: Mapping[str, Any] | None = None
    error: Mapping[str, str] | None = None
    problem: str | None = None


class Looked(NamedTuple):
    """The state of a batch: the provider's own word, whether it has ended, its counts, and its results, in files or
    inline.

    ``failure`` is the reason why requests without a result will never have one.
    """

    status: str
    ended: bool
    counts: dict[str, int]
    files: tuple[str, ...] = ()
    inline: Sequence[Any] = ()
    failure: str | None = None


def read_line(line: bytes | None, number: int) -> tuple[Mapping[str, Any] | None, list[Outcome]]:
    """The object of a line, else the problem to report; neither for a blank line."""
    if line is None:
        return None, [Outcome(None, problem=f"line {number} cannot be read: it is {TOO_LONG}")]
    if not line.strip():
        return None, []
    try:
        return decode_event(line), []
    except Refusal as refusal:
        return None, [Outcome(None, problem=f"line {number} cannot be read: {refusal}")]


def id_of(remote: Remote, said: Mapping[str, Any]) -> str:
    """The id of the batch or file that was created. Raises: UnreadableAnswer."""
    return sound_id(remote, shapes.text(said.get("id")), "the answer names nothing that was created")


def sound_id(remote: Remote, id: str, otherwise: str) -> str:
    """Check that an id can be kept and put into an address: a server may send anything, even the key of the call.

    Raises: UnreadableAnswer with ``otherwise``.
    """
    if not _ID.fullmatch(id) or remote.redactor.show(id, len(id)) != id:
        raise UnreadableAnswer(remote.provider, otherwise)
    return id


def named_id(remote: Remote, said: Mapping[str, Any], folder: str, otherwise: str) -> str:
    """The id after the folder in a name of Google. Raises: UnreadableAnswer with ``otherwise``."""
    name = shapes.text(said.get("name"))
    return sound_id(remote, name.removeprefix(folder) if name.startswith(folder) else "", otherwise)


def read_word(remote: Remote, value: object) -> str:
    """A server's word for a state, made safe to show."""
    return remote.redactor.show(shapes.text(value), 80)


def read_error(error: Mapping[str, Any], kind: str) -> dict[str, str]:
    word = (
        shapes.text(error.get("type"))
        or shapes.text(error.get("code"))
        or shapes.text(error.get("status"))
        or kind
        or "failed"
    )
    return {
        "type": word,
        "message": shapes.text(error.get("message")) or _WORDS.get(kind, "the provider does not say why"),
    }


def custom_id(said: Mapping[str, Any]) -> str | None:
    return shapes.name(said.get("custom_id"))


def read_records(value: object) -> list[Mapping[str, Any]]:
    """The records of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_id(said: Mapping[str, Any]) -> str | None:
    """The id of something; None if it is empty or not text."""
    return shapes.name(said.get("id"))


def read_counts(value: object) -> dict[str, int]:
    """Counts by their names; Gemini's are numbers as text. Leaves out names and values of any other form."""
    return {
        name: int(count)
        for name, count in shapes.record(value).items()
        if _COUNTED.fullmatch(name)
        if type(count) is int or (isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 19)
    }


def read_time(value: object) -> float:
    try:
        return datetime.fromisoformat(shapes.text(value)).timestamp()
    except (ValueError, OverflowError):
        return 0


# Printable ASCII, and not dots alone, which would lead to another folder of a path.
_ID = re.compile(r"(?!\.+$)[!-~]{1,500}")
_COUNTED = re.compile(r"[A-Za-z_]{1,40}")
_WORDS = {
    "expired": "the batch ended before it was answered",
    "canceled": "the batch was cancelled before it was answered",
}
"""The messages for requests for which the provider gives only a word."""
