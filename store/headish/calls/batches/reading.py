"""Read a server's report on batches value by value: it may contain anything, even the key of the call.

headish checks what it keeps or puts into an address; what it shows is short and holds no key.
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
    """What became of a request: an answer as the API itself would give it, or an error ``{type, message}``.

    ``problem`` says what is wrong with a line that is neither; then there may be no ``id``.
    """

    id: str | None
    response: Mapping[str, Any] | None = None
    error: Mapping[str, str] | None = None
    problem: str | None = None


class Looked(NamedTuple):
    """How far a batch is: the provider's own word, whether it has ended, its counts, and what the results are in.

    ``failure`` says why what has no result will never have one.
    """

    status: str
    ended: bool
    counts: dict[str, int]
    files: tuple[str, ...] = ()
    inline: Sequence[Any] = ()
    failure: str | None = None


def read_line(line: bytes | None, number: int) -> tuple[Mapping[str, Any] | None, list[Outcome]]:
    """The object of a line, else the problem to report; nothing for a blank line."""
    if line is None:
        return None, [Outcome(None, problem=f"line {number} cannot be read: it is {TOO_LONG}")]
    if not line.strip():
        return None, []
    try:
        return decode_event(line), []
    except Refusal as refusal:
        return None, [Outcome(None, problem=f"line {number} cannot be read: {refusal}")]


def id_of(remote: Remote, said: Mapping[str, Any]) -> str:
    """The id of what was created. Raises: UnreadableAnswer."""
    return sound_id(remote, shapes.text(said.get("id")), "the answer names nothing that was created")


def sound_id(remote: Remote, id: str, otherwise: str) -> str:
    """An id that can be kept and stand in an address: a server may say anything, the key of the call among it.

    Raises: UnreadableAnswer with ``otherwise``.
    """
    if not _ID.fullmatch(id) or remote.redactor.show(id, len(id)) != id:
        raise UnreadableAnswer(remote.provider, otherwise)
    return id


def named_id(remote: Remote, said: Mapping[str, Any], folder: str, otherwise: str) -> str:
    """The id behind the folder of a name of Google's. Raises: UnreadableAnswer with ``otherwise``."""
    name = shapes.text(said.get("name"))
    return sound_id(remote, name.removeprefix(folder) if name.startswith(folder) else "", otherwise)


def read_word(remote: Remote, value: object) -> str:
    """A server's word for a state, made safe to show."""
    return remote.redactor.show(shapes.text(value), 80)


def read_error(error: Mapping[str, Any], kind: str) -> dict[str, str]:
    said = (
        shapes.text(error.get("type"))
        or shapes.text(error.get("code"))
        or shapes.text(error.get("status"))
        or kind
        or "failed"
    )
    return {
        "type": said,
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
    """Counts by their names; Gemini's are numbers as text. Anything that cannot be such a name is left out."""
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


_ID = re.compile(r"(?!\.+$)[!-~]{1,500}")
_COUNTED = re.compile(r"[A-Za-z_]{1,40}")
_WORDS = {
    "expired": "the batch ended before it was answered",
    "canceled": "the batch was cancelled before it was answered",
}
"""The message for a request of which the provider says only a word."""
