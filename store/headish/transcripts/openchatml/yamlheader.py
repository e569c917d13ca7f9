"""The YAML header of a 2.x transcript: read as data, safely, and written canonically.

PyYAML parses it into events. Aliases, anchors, tags, merge keys and duplicate or complex keys are refused, and size and
depth are limited, so that no header can blow up memory. Plain scalars follow the core schema of YAML 1.2 (§10.3), in
which ``no`` and ``12:30`` are strings. A number that JSON cannot say stays a string.

Source: OpenChatML 2.2 §2, 2.0 §2; YAML 1.2.2 §10.3.2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headish.transcripts.shared.jsontext import quote
from headish.transcripts.shared.source import BLANKS
from headish.values.limits import MESSAGE_HEADER_LIMIT

HEADER_DEPTH = 20
_LONGEST_BITS = 14_000
"""An integer of more bits may have over 4,300 decimal digits, which Python does not write."""
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*", re.ASCII)
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# YAML would read these differently in a quoted scalar, or not at all.
_LONG_ESCAPE = re.compile(r"\\U([0-9A-Fa-f]{8})")
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class BadHeader(ValueError):
    """Text that is not a header; the message says why."""


class TextBehindHeader(ValueError):
    """Text between a header and the first message; ``at`` is where it begins."""

    def __init__(self, at: int) -> None:
        self.at = at
        super().__init__("text between the header and the first message")


def read_header(text: str) -> dict[str, Any]:
    """The header as data; ``version`` is the scalar's source text. Raises: BadHeader."""
    if len(text.encode()) > MESSAGE_HEADER_LIMIT:
        raise BadHeader(f"the YAML header has more than {MESSAGE_HEADER_LIMIT} bytes")
    if "\0" in text:
        raise BadHeader("the YAML header holds a NUL")
    import yaml  # late: most transcripts are read without one

    hidden, breaks = _hide_breaks(text)
    try:
        header = _read_document(_events(yaml.parse(hidden, Loader=yaml.SafeLoader), breaks))
    except yaml.YAMLError as error:
        raise BadHeader(f"the YAML header does not parse: {' '.join(str(error).split())[:200]}") from None
    version = header.get("version")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise BadHeader("the YAML header needs a version of digits and dots")
    return header


def write_header(header: Mapping[str, Any]) -> str:
    """The canonical text: ``version: X``, then one line ``key: JSON`` for each key, in order, and a blank line."""
    lines = [f"version: {header['version']}"]
    lines += [f"{_write_key(key)}: {_write_json(value)}" for key, value in header.items() if key != "version"]
    return "\n".join(lines) + "\n\n"


def find_yaml(raw: str) -> str:
    """The YAML of a header: all of it, or the part between ``---`` and the next ``---`` or ``...``.

    Raises: TextBehindHeader if more than blanks follow.
    """
    lead = len(raw) - len(raw.lstrip(BLANKS))
    first, _, _ = raw[lead:].partition("\n")
    if first.rstrip(BLANKS) != "---":
        return raw
    begin = lead + len(first) + 1
    closing = _CLOSING.search(raw, begin)
    if closing is None:
        return raw
    behind = raw[closing.end() :]
    if behind.strip(BLANKS):
        raise TextBehindHeader(closing.end() + len(behind) - len(behind.lstrip(BLANKS)))
    return raw[begin : closing.start()]


def requires_channels(header: Mapping[str, Any]) -> bool:
    """Whether the header's profile wants a channel on every answer (2.2 §12)."""
    profiles = header.get("profiles")
    harmony = profiles.get("harmony") if isinstance(profiles, dict) else None
    return isinstance(harmony, dict) and harmony.get("enabled") is True and bool(harmony.get("require_channels"))


def _hide_breaks(text: str) -> tuple[str, dict[int, str]]:
    """Replace the characters that end lines in YAML 1.1 but not in 1.2; return the text, and the table that restores
    them."""
    # Characters for private use are text to YAML. Only ones that this header does not hold are chosen, neither as they
    # are nor as an escape. This plane has 65,534; a header has bytes for a quarter of them.
    held = {*map(ord, text), *(int(code, 16) for code in _LONG_ESCAPE.findall(text))}
    free = (chr(code) for code in range(0xF0000, 0xFFFFE) if code not in held)
    stand_ins = {mark: next(free) for mark in "\x85\u2028\u2029" if mark in text}
    hidden = text.translate({ord(mark): stand_in for mark, stand_in in stand_ins.items()})
    return hidden, {ord(stand_in): mark for mark, stand_in in stand_ins.items()}


def _events(events: Iterator[Any], breaks: Mapping[int, str]) -> Iterator[Any]:
    """Yield the events, with hidden characters restored. Refuses what is allowed nowhere in a header."""
    for event in events:
        if type(event).__name__ == "ScalarEvent":
            event.value = event.value.translate(breaks)
            # An escape in a quoted scalar can make a lone surrogate, which no database can hold.
            if any("\ud800" <= character <= "\udfff" for character in event.value):
                raise BadHeader("the YAML header holds a lone surrogate")
        if getattr(event, "anchor", None) is not None:
            raise BadHeader("the YAML header holds an anchor or alias")
        if getattr(event, "tag", None) is not None or getattr(event, "tags", None):
            raise BadHeader("the YAML header holds a tag")
        yield event


def _read_document(events: Iterator[Any]) -> dict[str, Any]:
    header: Any = None
    documents = 0
    for event in events:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            documents += 1
            if documents > 1:
                raise BadHeader("the YAML header holds more than one document")
            header = _read_value(next(events), events, 0, is_version=False)
    if not isinstance(header, dict):
        raise BadHeader("the YAML header is not a mapping")
    return header


def _read_value(event: Any, events: Iterator[Any], depth: int, *, is_version: bool) -> Any:
    if depth > HEADER_DEPTH:
        raise BadHeader(f"the YAML header nests deeper than {HEADER_DEPTH} levels")
    kind = type(event).__name__
    if kind == "ScalarEvent":
        # A version stays text: as numbers, 2 and 2.0 are the same. ``implicit[0]`` is false for a quoted scalar.
        return event.value if is_version or not event.implicit[0] else _read_plain(event.value)
    if kind == "SequenceStartEvent":
        return list(_read_items(events, depth))
    if kind == "MappingStartEvent":
        return _read_mapping(events, depth)
    raise BadHeader(f"the YAML header holds a {kind}")


def _read_items(events: Iterator[Any], depth: int) -> Iterator[Any]:
    for event in events:
        if type(event).__name__ == "SequenceEndEvent":
            return
        yield _read_value(event, events, depth + 1, is_version=False)


def _read_mapping(events: Iterator[Any], depth: int) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for event in events:
        if type(event).__name__ == "MappingEndEvent":
            break
        key = _read_key(event)
        if key in record:
            raise BadHeader(f"the key {key!r} of the YAML header appears twice")
        record[key] = _read_value(next(events), events, depth + 1, is_version=depth == 0 and key == "version")
    return record


def _read_key(event: Any) -> str:
    if type(event).__name__ != "ScalarEvent":
        raise BadHeader("the YAML header holds a key that is not a scalar")
    if event.value == "<<" and event.implicit[0]:
        raise BadHeader("the YAML header holds a merge key")
    return str(event.value)


def _read_plain(text: str) -> Any:
    for pattern, read in _PLAIN:
        if pattern.fullmatch(text):
            return read(text)
    return text


def _read_number(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        try:
            value = read(text)
        except ValueError:  # Python refuses to convert an integer of over 4,300 digits
            return text
        if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
            return text  # the same limit for hexadecimal and octal digits, whose conversion has none
        return text if isinstance(value, float) and not math.isfinite(value) else value

    return number


def _write_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _write_json(key)


def _write_json(value: Any) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", quote(value))


_PLAIN: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"|~|null|Null|NULL"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?[0-9]+", re.ASCII), _read_number(int)),
    (re.compile(r"0o[0-7]+"), _read_number(lambda text: int(text[2:], 8))),
    (re.compile(r"0x[0-9a-fA-F]+"), _read_number(lambda text: int(text[2:], 16))),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII), _read_number(float)),
)
