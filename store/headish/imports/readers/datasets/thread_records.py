"""Thread records of the schema reference: ``{id, role, content, inherited, cache}``, as a JSON list or one per line.

A record continues the one before it, or the earlier ones that its ``continues`` names by id. ``options``, the older
name of ``inherited``, is read as that. ``head`` is the name that the thread had: the last one in the file becomes a
bookmark. What else a record says, its id included, is kept in ``meta.app.record``. An id of headish's own kind, which
is globally unique, is also the turn's key: ``records:ID``. Other ids only tell the records of their file apart.

Source: the schema reference (specification 002), "Thread Record Schema", with the note at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headish.content import strictjson
from headish.content.drafts import Draft, make_draft
from headish.content.encoding import read_content
from headish.errors import HeadishError, InvalidImport, shown
from headish.imports.archives import CHUNK_BYTES
from headish.imports.imported import ImportedTree, Link, make_key
from headish.imports.notes import ImportNotes
from headish.imports.reader import ImportSource
from headish.imports.readers.shared.json_arrays import split_items
from headish.imports.source_files import LONG_LINE, read_lines
from headish.imports.unpacking import peek
from headish.values import shapes
from headish.values.caches import plausible_cache
from headish.values.ids import as_turn_id
from headish.values.limits import IMPORT_LINE_BYTES, PAYLOAD_LIMIT_BYTES
from headish.values.names import new_refusal

FORMAT = "records"
_OWN = ("role", "content", "inherited", "options", "cache", "continues")
"""Keys that need not be kept in meta: the turn itself says the same."""


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the one thread of a file; nothing for a file without records.

    A record that cannot be read, or is too long for memory, is noted as broken, with its line or its number in a list.
    What continues a broken record continues the record before it.
    Raises: InvalidImport for a list that is not JSON, and a thread that is too long.
    """
    thread = _RecordThread()
    for where, record in _read_records(given):
        if record is None:
            thread.lose()
            continue
        try:
            thread.add(record)
        except (_Malformed, HeadishError) as error:
            given.notes.break_off(where, str(error))
            thread.pass_over(record)
    if thread.drafts:
        yield ImportedTree(tuple(thread.drafts), tuple(thread.parents), thread.name, thread.named)


class _RecordThread:
    """The records so far. ``known`` has the draft of each id; for a broken record, what it continues."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.parents: list[Link] = []
        self.name: str | None = None
        self.named = 0
        self._known: dict[str, tuple[int, ...]] = {}
        self._lost: tuple[int, ...] | None = None

    def add(self, record: dict[str, Any]) -> None:
        """Add a record. Raises: _Malformed, HeadishError; then nothing is added."""
        draft, parents = _draft(record), self._parents(record)
        if record.get("head") is not None:
            self.name, self.named = _name(record["head"]), len(self.drafts)
        self._remember(record, (len(self.drafts),))
        self.drafts.append(draft)
        self.parents.append(parents or None)

    def pass_over(self, record: dict[str, Any]) -> None:
        """Make what continues a broken record continue what is before it."""
        try:
            self._remember(record, self._parents(record))
        except _Malformed:
            self._remember(record, self._last())

    def lose(self) -> None:
        """Note that a record was left out before its id was read: an unknown id may be its."""
        self._lost = self._last()

    def _remember(self, record: dict[str, Any], places: tuple[int, ...]) -> None:
        if isinstance(record.get("id"), str):
            self._known[record["id"]] = places

    def _parents(self, record: dict[str, Any]) -> tuple[int, ...]:
        """Return what a record continues: the earlier records that it names, in order, else the one before it."""
        continues = record.get("continues")
        if continues is None:
            return self._last()
        listed = continues if isinstance(continues, list) else [continues]
        places = [self._known.get(each, self._lost) if isinstance(each, str) else None for each in listed]
        if any(each is None for each in places):
            raise _Malformed(f"it continues {shown(continues)}, which are not ids of records before it")
        return tuple(dict.fromkeys(place for each in places for place in each or ()))

    def _last(self) -> tuple[int, ...]:
        return (len(self.drafts) - 1,) if self.drafts else ()


class _Malformed(Exception):
    pass


def _read_records(given: ImportSource) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield the records with their places; None for one that was left out before its id was read.

    A thread is stored as a whole, so memory holds it, up to the limit of a line.
    """
    size_bytes = 0
    is_list = peek(given.file, CHUNK_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    # Each record of a list is decoded by itself: a number that cannot be kept costs only its record.
    items = split_items(given) if is_list else read_lines(given.file, given.name, given.progress)
    for number, data in enumerate(items, 1):
        where = f"{'record' if is_list else 'line'} {number}"
        if data is None:
            given.notes.break_off(where, f"it is longer than {IMPORT_LINE_BYTES:,} bytes" if is_list else LONG_LINE)
            yield where, None
            continue
        size_bytes += len(data)
        if size_bytes > IMPORT_LINE_BYTES:
            raise InvalidImport(given.name, None, f"the thread is longer than {IMPORT_LINE_BYTES:,} bytes ({where})")
        if data.strip():
            yield where, _as_record(where, data, given.notes)


def _as_record(where: str, data: bytes, notes: ImportNotes) -> dict[str, Any] | None:
    """Return a record; None for anything else, which is noted as broken."""
    try:
        value = strictjson.decode(data, "the record")
    except HeadishError as error:
        notes.break_off(where, str(error))
        return None
    if isinstance(value, dict) and "content" in value:
        return value
    notes.break_off(where, "a thread record is an object with a `content`")
    return None


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
        # Ids of other kinds may repeat in another file, and a key is unique in its space.
        "key": make_key(FORMAT, record.get("id")) if as_turn_id(shapes.text(record.get("id"))) else None,
    }
    # Blocks as headish writes them: a part that only looks like an API's must not be converted.
    return make_draft(read_content(record["content"]), turn, PAYLOAD_LIMIT_BYTES)


def _name(head: Any) -> str:
    reason = new_refusal(head) if isinstance(head, str) else "it must be text"
    if reason is not None:
        raise _Malformed(f"its head cannot be a bookmark: {reason}")
    return str(head)
