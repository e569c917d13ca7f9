"""Verify a whole space: derive every hash, digest and seal again, and say what disagrees.

The space is read in pages, each in a transaction of its own, so that writers never wait. Turns never change, so what
was checked stays checked. Memory is bounded by a page and the links that begin in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from headish.content.hashes import hash_payload
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import DatabaseCorrupt
from headish.history.searching.checking import check_index
from headish.rows.bookmarks import count_bookmarks
from headish.rows.payloads import payloads_after
from headish.values.results.reports import Problem, Report
from headish.verify.beside import check_conversations, check_objects, check_record_log
from headish.verify.bookmarks import check_bookmarks
from headish.verify.changes import check_changes, check_names
from headish.verify.erasures import check_receipts
from headish.verify.providers import check_providers
from headish.verify.sealed import check_arrivals, check_calls, check_remotes, check_signatures
from headish.verify.turns import check_completeness, check_turns
from headish.verify.types import check_types

Progress = Callable[[int], None]
"""Called with the number of turns checked since the last call."""

PAGE_PAYLOADS = 100
STUMBLING = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError, DatabaseCorrupt)
"""The exceptions that a value of another type may raise, wherever it is used."""
Found = tuple[int, list[Problem]]
"""How many rows were checked, and what disagrees."""
Check = Callable[[Connection, int], Iterable[Problem]]
CHECKS: dict[str, Check] = {
    "space": check_completeness,
    "bookmarks": check_bookmarks,
    "pointers, tools and streams": check_providers,
    "objects": check_objects,
    "conversations": check_conversations,
    "log of conversations": check_record_log,
    "calls": check_calls,
    "erasures": check_receipts,
    "changes": check_changes,
    "names of the space": check_names,
    "arrivals": check_arrivals,
    "remotes": check_remotes,
    "signatures": check_signatures,
}
"""The checks beside payloads and turns, each in one transaction, so that it sees one moment."""


def verify_space(backend: Backend, space: int, progress: Progress | None = None) -> Report:
    """Check a whole space.

    Cost: one statement for 100 payloads, two for 1,000 turns. ``problems`` are in the order of the rows, after those
    about values of another type, which may end other checks early.
    """
    problems: list[Problem] = []
    turns = payloads = bookmarks = 0
    for _, found in _guarded("columns", _at_once(backend, space, check_types)):
        problems += found
    for count, found in _guarded("payloads", _check_payloads(backend, space)):
        payloads += count
        problems += found
    for count, found in _guarded("turns", check_turns(backend, space)):
        turns += count
        problems += found
        if progress:
            progress(count)
    for name, check in CHECKS.items():
        problems += [each for _, found in _guarded(name, _at_once(backend, space, check)) for each in found]
    for _, found in _guarded("search index", ((0, [each]) for each in check_index(backend, space))):
        problems += found
    for count, found in _guarded("bookmarks", _count_bookmarks(backend, space)):
        bookmarks += count
        problems += found
    return Report(turns=turns, payloads=payloads, bookmarks=bookmarks, problems=tuple(problems))


def _guarded(name: str, found: Iterator[Found]) -> Iterator[Found]:
    """Yield what a check finds, up to a value that it stumbles over."""
    try:
        yield from found
    except STUMBLING as error:  # damage in one check must not hide what the others find
        yield 0, [Problem(name, f"what is damaged keeps the rest from being checked ({error})")]


def _count_bookmarks(backend: Backend, space: int) -> Iterator[Found]:
    yield backend.read(lambda connection: count_bookmarks(connection, space)), []


def _at_once(backend: Backend, space: int, check: Check) -> Iterator[Found]:
    yield 0, backend.read(lambda connection: list(check(connection, space)))


def _check_payloads(backend: Backend, space: int) -> Iterator[Found]:
    after = b""
    while True:
        page = backend.read(partial(payloads_after, space=space, hash=after, limit=PAGE_PAYLOADS))
        if not page:
            return
        problems = [
            Problem(f"payload {hash.hex()}", what)
            for hash, size, data, erased in page
            if (what := _payload_problem(hash, size, data, erased))
        ]
        yield len(page), problems
        after = page[-1][0]


def _payload_problem(hash: object, size: object, data: object, erased: object) -> str | None:
    if not isinstance(hash, bytes) or not isinstance(size, int) or not isinstance(data, bytes | None):
        return None  # reported by check_types
    if data is None:
        return None if erased is not None else "its bytes are missing"
    if erased is not None:
        return "it is barred, and its bytes are there"
    if hash_payload(data) != hash:
        return f"its bytes hash to {hash_payload(data).hex()}"
    return None if len(data) == size else f"it has {len(data)} bytes, not {size}"
