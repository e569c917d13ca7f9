"""Verify pointers, tools and arriving answers of a space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from headish.content.hashes import DEFINITION_LOG, hash_payload, run_on
from headish.database.query import Connection, Query, Row
from headish.history.reading.decode import is_time, mapping_in
from headish.providers.pointers import decode_pointer
from headish.rows.counters import read_counter
from headish.rows.definitions import DEFAULT, POINTER, TOOLS
from headish.rows.streams import FINISHED, RECOVERED
from headish.rows.turns import turn_by_id
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import stored_name
from headish.values.results.reports import Problem


def check_providers(connection: Connection, space: int) -> list[Problem]:
    """The problems of pointers, tools and streams. Cost: three statements, since names and open streams are few."""
    return [*_check_definitions(connection, space), *_check_streams(connection, space)]


DEFINITIONS = Query(
    "all definitions",
    """
    SELECT d.kind, d.name, d.number, d.hash, coalesce(d.data, p.data), d.milliseconds, d.running, d.seq
    FROM definition AS d LEFT JOIN payload AS p ON p.space = :space AND p.hash = d.hash AND d.data IS NULL
    WHERE d.space = :space ORDER BY d.kind, d.name, d.number
    """,
)


def _check_definitions(connection: Connection, space: int) -> Iterator[Problem]:
    rows = connection.rows(DEFINITIONS, space=space)
    for (kind, name), members in groupby(rows, lambda row: (row[0], row[1])):
        subject = f"{kind} {stored_name(name)!r}"
        history = list(members)
        if [row[2] for row in history] != list(range(1, len(history) + 1)):
            yield Problem(subject, "its history has a gap")
        if kind not in DECODERS:
            yield Problem(subject, "its kind is unknown")
            continue
        last_seq = read_counter(connection, space).seq
        yield from (Problem(subject, what) for what in _check_history(DECODERS[kind], history, last_seq))


def _check_history(decode: Callable[[bytes], Any], history: Iterable[Row], last_seq: int) -> Iterator[str]:
    running, held = b"", None
    for _, _, number, hash, data, milliseconds, logged, seq in history:
        subject = f"number {number} of its history"
        if not is_time(milliseconds):
            yield f"the time of {subject} is {milliseconds}"
        if not 0 <= seq <= last_seq:
            yield f"{subject} has a commit number that it cannot have"
        if hash == held:
            yield f"{subject} changes nothing"
        yield from (f"{subject} {what}" for what in _check_value(decode, hash, data))
        running = run_on(DEFINITION_LOG, running, number, b"" if hash is None else hash.hex().encode(), milliseconds)
        if running != logged:
            yield f"{subject} was altered: its running hash disagrees"
            return  # every later hash follows from this one
        held = hash


def _check_value(decode: Callable[[bytes], Any], hash: bytes | None, data: bytes | None) -> Iterator[str]:
    if hash is None:
        if data is not None:
            yield "removes it and holds a value"
    elif data is None or not _decodes(decode, data):
        yield "does not decode"
    elif hash_payload(data) != hash:
        yield "disagrees with its hash"


STREAMS = Query(
    "all streams",
    """
    SELECT s.id, s.about, s.outcome, s.turn, t.seq FROM stream AS s
    LEFT JOIN turn AS t ON t.space = :space AND t.id = s.turn WHERE s.space = :space ORDER BY s.id
    """,
)
# One statement for streams and chunks: a writer may end a stream between two, which removes its journal.
CHUNKS = Query(
    "all journals",
    """
    SELECT k.stream, k.number, k.data, s.id, s.outcome FROM stream_chunk AS k
    LEFT JOIN stream AS s ON s.space = :space AND s.id = k.stream WHERE k.space = :space ORDER BY k.stream, k.number
    """,
)


def _check_streams(connection: Connection, space: int) -> Iterator[Problem]:
    for row in connection.rows(STREAMS, space=space):
        yield from (Problem(f"stream {row[0]}", what) for what in _stream_problems(row))
        for turn_id in _continued(row):
            if turn_by_id(connection, space, turn_id) is None:
                yield Problem(f"stream {row[0]}", f"the turn that it continues, {turn_id}, is missing")
    for id, members in groupby(connection.rows(CHUNKS, space=space), lambda row: row[0]):
        chunks = list(members)
        if any(row[3] is None or row[4] is not None for row in chunks):
            yield Problem(f"stream {id}", "it has a journal and is not open")
        if [row[1] for row in chunks] != list(range(len(chunks))):
            yield Problem(f"stream {id}", "its journal has a gap")
        if not all(_decodes(_decode_lines, row[2]) for row in chunks):
            yield Problem(f"stream {id}", "its journal does not decode")


def _stream_problems(row: Row) -> Iterator[str]:
    id, about, outcome, turn_id, seq = row
    if as_turn_id(id) != id:
        yield "its id is not a SCRU128 id"
    if not _decodes(_decode_mapping, about):
        yield "what it belongs to does not decode"
    if outcome not in (None, FINISHED, RECOVERED):
        yield f"its outcome is {outcome!r}"
    if (outcome is None) != (turn_id is None):
        yield "its outcome and its turn disagree"
    if turn_id is not None and seq is None:
        yield f"its turn {turn_id} is missing"


def _continued(row: Row) -> list[TurnId]:
    """The turns that the answer of an open stream will continue."""
    _, about, outcome, _, _ = row
    turns = mapping_in(about).get("turns") if outcome is None else None
    return [TurnId(each) for each in turns if isinstance(each, str)] if isinstance(turns, list) else []


def _decodes(decode: Callable[[bytes], Any], data: bytes | None) -> bool:
    try:
        return data is not None and decode(data) is not None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


def _decode_lines(data: bytes) -> list[Any]:
    return [_decode_mapping(line) for line in data.splitlines()]


_decode_mapping = msgspec.json.Decoder(dict[str, Any]).decode
DECODERS: dict[str, Callable[[bytes], Any]] = {
    POINTER: decode_pointer,
    TOOLS: msgspec.json.Decoder(list[dict[str, Any]]).decode,
    DEFAULT: msgspec.json.Decoder(dict[str, str]).decode,
}
