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

from headish.content import strictjson
from headish.content.drafts import Draft, make_draft
from headish.content.encoding import read_content
from headish.errors import HeadishError, InvalidImport, shown
from headish.imports.imported import ImportedTree, Link, make_key
from headish.limits import IMPORT_LINE_BYTES, PAYLOAD_LIMIT_BYTES
from headish.values.caches import plausible_cache
from headish.values.ids import as_turn_id
from headish.values.names import new_refusal

_OWN = ("role", "content", "inherited", "options", "cache", "continues")
"""Keys that the turn itself says."""


def read_thread(lines: Iterable[bytes], source: str) -> Iterator[ImportedTree]:
    """The one thread of a file; nothing for an empty file. ``source`` names the file in errors.

    Raises: InvalidImport with the line, or of a list with the number of the record.
    """
    drafts: list[Draft] = []
    parents: list[Link] = []
    known: dict[str, int] = {}
    name, named = None, 0
    for number, record in _read_records(lines, source):
        try:
            draft, parent = _draft(record), _parents(record, len(drafts), known)
            if record.get("head") is not None:
                name, named = _name(record["head"]), len(drafts)
        except _Malformed as error:
            raise InvalidImport(source, number, str(error)) from None
        except HeadishError as error:
            raise InvalidImport(source, number, str(error)) from error
        if isinstance(record.get("id"), str):
            known[record["id"]] = len(drafts)
        drafts.append(draft)
        parents.append(parent)
    if drafts:
        yield ImportedTree(tuple(drafts), tuple(parents), name, named)


class _Malformed(Exception):
    pass


def _read_records(lines: Iterable[bytes], source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records with their numbers. A thread is stored as a whole, so memory holds it, up to the limit of a line."""
    size_bytes, listed, is_first = 0, b"", True
    for number, line in enumerate(lines, 1):
        size_bytes += len(line)
        if size_bytes > IMPORT_LINE_BYTES:
            raise InvalidImport(source, number, f"the thread is longer than {IMPORT_LINE_BYTES:,} bytes")
        if listed or (is_first and line.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")):
            listed += line
        elif line.strip():
            is_first = False
            yield number, _as_record(_decode(line, source, number), source, number)
    if listed:
        for number, value in enumerate(_decode(listed.removeprefix(b"\xef\xbb\xbf"), source, None), 1):
            yield number, _as_record(value, source, number)


def _decode(data: bytes, source: str, number: int | None) -> Any:
    try:
        return strictjson.decode(data, "the line" if number else "the file")
    except HeadishError as error:
        raise InvalidImport(source, number, str(error)) from None


def _as_record(value: Any, source: str, number: int) -> dict[str, Any]:
    if not isinstance(value, dict) or "content" not in value:
        raise InvalidImport(source, number, "a thread record is an object with a `content`")
    return value


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


def _parents(record: dict[str, Any], index: int, known: dict[str, int]) -> Link:
    """What a record continues: the one before it unless it says so, else one or several before it, in order."""
    continues = record.get("continues")
    if continues is None:
        return index - 1 if index else None
    listed = list(dict.fromkeys(continues)) if _is_names(continues) else [continues]
    if not all(isinstance(each, str) and each in known for each in listed):
        raise _Malformed(f"it continues {shown(continues)}, which are not ids of records before it")
    return tuple(known[each] for each in listed) or None


def _is_names(continues: Any) -> bool:
    return isinstance(continues, list) and all(isinstance(each, str) for each in continues)


def _name(head: Any) -> str:
    reason = new_refusal(head) if isinstance(head, str) else "it must be text"
    if reason is not None:
        raise _Malformed(f"its head cannot be a bookmark: {reason}")
    return str(head)
