"""Verify a whole space: derive every hash, digest and seal again, and say what disagrees.

The space is read in pages, each in a transaction of its own, so that writers never wait. Turns never change, so what
was checked stays checked. Memory is bounded by a page and the links that begin in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from headish.content.hashes import hash_payload
from headish.database.backend import Backend
from headish.rows.payloads import payloads_after
from headish.values.reports import Problem, Report
from headish.verify.bookmarks import check_bookmarks
from headish.verify.providers import check_providers
from headish.verify.turns import check_completeness, check_turns

Progress = Callable[[int], None]
"""Called with the number of turns checked since the last call."""

PAGE_PAYLOADS = 100


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
    problems += backend.read(lambda connection: check_completeness(connection, space))
    bookmarks, found = backend.read(lambda connection: check_bookmarks(connection, space))
    found += backend.read(lambda connection: check_providers(connection, space))
    return Report(turns, payloads, bookmarks, tuple(problems + found))


def _check_payloads(backend: Backend, space: int) -> Iterator[tuple[int, list[Problem]]]:
    number = 0
    while True:
        page = backend.read(partial(payloads_after, space=space, number=number, limit=PAGE_PAYLOADS))
        if not page:
            return
        problems = [
            Problem(f"payload {bytes(hash).hex()}", what)
            for _, hash, size, data in page
            if (what := _payload_problem(bytes(hash), size, data))
        ]
        yield len(page), problems
        number = page[-1][0]


def _payload_problem(hash: bytes, size: int, data: bytes | None) -> str | None:
    if data is None:
        return "its bytes are missing"
    if hash_payload(data) != hash:
        return f"its bytes hash to {hash_payload(data).hex()}"
    return None if len(data) == size else f"it has {len(data)} bytes, not {size}"
