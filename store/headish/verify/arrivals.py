"""Verify the rows about other places: each is as it was written, and no arrival reaches into another one or past the
last turn."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import astuple

from headish.content.hashes import seal_arrival, seal_notice, seal_remote, seal_remote_bookmark
from headish.database.query import Connection
from headish.rows.counters import read_counter
from headish.rows.elsewhere.arrivals import StoredArrival, all_arrivals
from headish.rows.elsewhere.notices import all_notices
from headish.rows.elsewhere.remotes import list_remote_bookmarks, list_remotes
from headish.values.names import stored_name
from headish.values.results.reports import Problem


def check_arrivals(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the problems of the rows that say where turns came from. Cost: one statement for each 500 of them."""
    end = 0
    for arrival in all_arrivals(connection, space):
        for what in _problems(arrival, end):
            yield Problem(f"arrival {arrival.first}", what)
        end = max(end, arrival.last)
    last = read_counter(connection, space).seq
    if end > last:
        yield Problem("space", f"turns arrived up to {end}, and its last is {last}")


def _problems(arrival: StoredArrival, end: int) -> Iterator[str]:
    if arrival.first <= end or arrival.last < arrival.first:
        yield "its commit numbers are those of another one, or none"
    if seal_arrival(*astuple(arrival)[:-1]) != arrival.seal:
        yield "its row was altered: its seal disagrees"


def check_remotes(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the remotes, names of their devices and notices of erasures that were altered. Cost: one statement, and one
    for each thousand names."""
    for remote in list_remotes(connection, space):
        if seal_remote(*remote[:-1]) != remote.seal:
            yield Problem(f"remote {stored_name(remote.name)}", "its row was altered: its seal disagrees")
    for each in list_remote_bookmarks(connection, space):
        if seal_remote_bookmark(*each[:-1]) != each.seal:
            subject = f"bookmark {stored_name(each.device)}/{stored_name(each.name)}"
            yield Problem(subject, "its row was altered: its seal disagrees")
    for notice in all_notices(connection, space):
        if seal_notice(*notice[:-1]) != notice.seal:
            yield Problem(f"erasure {notice.id} of another store", "its row was altered: its seal disagrees")
