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
from headish.rows.bookmarks import count_bookmarks
from headish.rows.payloads import payloads_after
from headish.values.reports import Problem, Report
from headish.verify.beside import check_conversations, check_objects
from headish.verify.bookmarks import check_bookmarks
from headish.verify.changes import check_changes, check_names
from headish.verify.providers import check_providers
from headish.verify.turns import check_completeness, check_turns

Progress = Callable[[int], None]
"""Called with the number of turns checked since the last call."""

PAGE_PAYLOADS = 100
Check = Callable[[Connection, int], Iterable[Problem]]
CHECKS: dict[str, Check] = {
    "space": check_completeness,
    "bookmarks": check_bookmarks,
    "pointers, tools and streams": check_providers,
    "objects": check_objects,
    "conversations": check_conversations,
    "changes": check_changes,
    "names of the space": check_names,
}
"""What is checked beside payloads and turns, each at one moment."""


def verify_space(backend: Backend, space: int, progress: Progress | None = None) -> Report:
    """Check a whole space.

    Cost: one statement for 100 payloads, two for 1,000 turns. ``problems`` come in the order of the rows.
    """
    problems: list[Problem] = []
    payloads = 0
    for count, found in _check_payloads(backend, space):
        payloads += count
        problems += found
    turns = 0
    for count, found in check_turns(backend, space):
        turns += count
        problems += found
        if progress:
            progress(count)
    for name, check in CHECKS.items():
        problems += _run_check(backend, space, name, check)
    bookmarks = backend.read(lambda connection: count_bookmarks(connection, space))
    return Report(turns=turns, payloads=payloads, bookmarks=bookmarks, problems=tuple(problems))


def _run_check(backend: Backend, space: int, name: str, check: Check) -> list[Problem]:
    """What a check finds; a value of another type that it stumbles over is a problem, too."""
    try:
        return backend.read(lambda connection: list(check(connection, space)))
    except (TypeError, ValueError, AttributeError) as error:
        return [Problem(name, f"a column holds a value of another type ({error})")]


def _check_payloads(backend: Backend, space: int) -> Iterator[tuple[int, list[Problem]]]:
    after = b""
    while True:
        page = backend.read(partial(payloads_after, space=space, hash=after, limit=PAGE_PAYLOADS))
        if not page:
            return
        problems = [
            Problem(f"payload {hash.hex() if isinstance(hash, bytes) else hash}", what)
            for hash, size, data, erased in page
            if (what := _payload_problem(hash, size, data, erased))
        ]
        yield len(page), problems
        after = page[-1][0]


def _payload_problem(hash: object, size: object, data: object, erased: object) -> str | None:
    if not isinstance(hash, bytes) or not isinstance(size, int) or not isinstance(data, bytes | None):
        return "its hash, size or data hold a value of another type"
    if data is None:
        return None if erased is not None else "its bytes are missing"
    if hash_payload(data) != hash:
        return f"its bytes hash to {hash_payload(data).hex()}"
    return None if len(data) == size else f"it has {len(data)} bytes, not {size}"
