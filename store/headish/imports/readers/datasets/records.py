"""Thread records of the schema reference: ``{id, role, content, inherited, cache}``, as a JSON list or one per line.

A record continues the one before it, or the earlier ones that its ``continues`` names by id. ``options``, the older
name of ``inherited``, is read as that. ``head`` is the name that the thread had: the last one of the file becomes a
bookmark. What else a record says, its id among it, is kept in ``meta.app.record``. An id of headish's own kind, which
no other record anywhere has, is also the turn's key: ``records:ID``. Other ids tell the records of their file apart,
and no more.

Source: the schema reference (specification 002), "Thread Record Schema", with the note at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headish.content import strictjson
from headish.content.drafts import Draft, make_draft
from headish.content.encoding import read_content
from headish.errors import HeadishError, InvalidImport, shown
from headish.imports.imported import ImportedTree, Link, make_key
from headish.imports.notes import Notes
from headish.limits import IMPORT_LINE_BYTES, PAYLOAD_LIMIT_BYTES
from headish.values.caches import plausible_cache
from headish.values.ids import as_turn_id
from headish.values.names import new_refusal

_OWN = ("role", "content", "inherited", "options", "cache", "continues")
"""Keys that the turn itself says."""


def read_thread(lines: Iterable[bytes], notes: Notes) -> Iterator[ImportedTree]:
    """The one thread of a file; nothing for a file without records.

    A record that cannot be read is noted as broken, with its line or its number in a list. What names it continues what
    it would have continued. Raises: InvalidImport for a list that is no JSON, and a thread that is too long.
    """
    thread = _Thread()
    for where, record in _read_records(lines, notes):
        try:
            thread.add(record)
        except (_Malformed, HeadishError) as error:
            notes.break_off(where, str(error))
            thread.pass_over(record)
    if thread.drafts:
        yield ImportedTree(tuple(thread.drafts), tuple(thread.parents), thread.name, thread.named)


class _Thread:
    """The records so far. ``known`` says what stands for each id: its draft, or what is before one that is broken."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.parents: list[Link] = []
        self.name: str | None = None
        self.named = 0
        self._known: dict[str, tuple[int, ...]] = {}

    def add(self, record: dict[str, Any]) -> None:
        """Raises: _Malformed, HeadishError; then nothing is added."""
        draft, parents = _draft(record), self._parents(record)
        if record.get("head") is not None:
            self.name, self.named = _name(record["head"]), len(self.drafts)
        self._remember(record, (len(self.drafts),))
        self.drafts.append(draft)
        self.parents.append(parents or None)

    def pass_over(self, record: dict[str, Any]) -> None:
        """Let what names a broken record continue what is before it."""
        try:
            self._remember(record, self._parents(record))
        except _Malformed:
            self._remember(record, self._last())

    def _remember(self, record: dict[str, Any], places: tuple[int, ...]) -> None:
        if isinstance(record.get("id"), str):
            self._known[record["id"]] = places

    def _parents(self, record: dict[str, Any]) -> tuple[int, ...]:
        """What a record continues: the one before it unless it says so, else one or several before it, in order."""
        continues = record.get("continues")
        if continues is None:
            return self._last()
        listed = continues if _is_names(continues) else [continues]
        if not all(isinstance(each, str) and each in self._known for each in listed):
            raise _Malformed(f"it continues {shown(continues)}, which are not ids of records before it")
        return tuple(dict.fromkeys(place for each in listed for place in self._known[each]))

    def _last(self) -> tuple[int, ...]:
        return (len(self.drafts) - 1,) if self.drafts else ()


class _Malformed(Exception):
    pass


def _read_records(lines: Iterable[bytes], notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records with their places. A thread is stored as a whole, so memory holds it, up to the limit of a line."""
    size_bytes, is_list, is_first = 0, False, True
    listed: list[bytes] = []
    for number, line in enumerate(lines, 1):
        size_bytes += len(line)
        if size_bytes > IMPORT_LINE_BYTES:
            raise InvalidImport(notes.source, number, f"the thread is longer than {IMPORT_LINE_BYTES:,} bytes")
        is_list = is_list or (is_first and line.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["))
        if is_list:
            listed.append(line)
        elif line.strip():
            is_first = False
            yield from _as_record(f"line {number}", line.removeprefix(b"\xef\xbb\xbf"), notes)
    if listed:
        yield from _read_list(b"".join(listed).removeprefix(b"\xef\xbb\xbf"), notes)


def _read_list(data: bytes, notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a list, each read by itself: a number that nobody can keep costs its record."""
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidImport(notes.source, None, f"the file is not a JSON list: {error}") from None
    for number, item in enumerate(items, 1):
        yield from _as_record(f"record {number}", bytes(item), notes)


def _as_record(where: str, data: bytes, notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        value = strictjson.decode(data, "the record")
    except HeadishError as error:
        notes.break_off(where, str(error))
        return
    if isinstance(value, dict) and "content" in value:
        yield where, value
    else:
        notes.break_off(where, "a thread record is an object with a `content`")


def _draft(record: dict[str, Any]) -> Draft:
    if "inherited" in record and "options" in record:
        raise _Malformed("`options` is the older name of `inherited`; a record has one of them")
    inherited = record.get("inherited", record.get("options"))
    kept = {key: value for key, value in record.items() if key not in _OWN}
    turn = {
        "role": record.get("role", "user"),
        "inherited": inherited,
        "cache": plausible_cache(record.get("cache")),
        "meta": {"record": kept} if kept else None,
        "key": make_key("records", record.get("id")) if _is_global(record.get("id")) else None,
    }
    # Blocks as headish writes them: what looks like an API's part is none.
    return make_draft(read_content(record["content"]), turn, PAYLOAD_LIMIT_BYTES)


def _is_global(record_id: Any) -> bool:
    return isinstance(record_id, str) and as_turn_id(record_id) is not None


def _is_names(continues: Any) -> bool:
    return isinstance(continues, list) and all(isinstance(each, str) for each in continues)


def _name(head: Any) -> str:
    reason = new_refusal(head) if isinstance(head, str) else "it must be text"
    if reason is not None:
        raise _Malformed(f"its head cannot be a bookmark: {reason}")
    return str(head)
