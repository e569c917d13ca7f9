"""The state of remotes as far as this store knows it; nothing here sends a request."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from headish.database.query import Connection
from headish.rows.bookmarks import find_bookmark
from headish.rows.counters import read_counter
from headish.rows.elsewhere.arrivals import arrivals_among
from headish.rows.elsewhere.remotes import RemoteBookmark, bookmarks_called, list_remote_bookmarks
from headish.rows.turns import turn_at, turn_by_id
from headish.syncing.naming import compare
from headish.syncing.remotes import OpenRemote, SeenLog
from headish.values.names import stored_name
from headish.values.results.sharing import DIVERGED, NameElsewhere, RemoteDevice


def describe_device(device: str, seen: SeenLog, wanted: Collection[str], *, own: bool, invited: bool) -> RemoteDevice:
    """A device as callers see it. ``wanted`` are the ids of the receipts that it should have applied."""
    time = datetime.fromtimestamp(seen.made_at / 1000, UTC) if seen.made_at else None
    erased = set(wanted) <= set(seen.erased)
    return RemoteDevice(seen.label, device, seen.number, time, own=own, invited=invited, erased=erased)


def tell_unreached(remote: OpenRemote, receipt: str) -> str:
    """Say how many devices of a remote an erasure has not reached; empty if it has reached all."""
    logs = remote.logs
    missing = sum(receipt not in each.erased for _, each in logs)
    return f"{missing} of {len(logs)} devices on {stored_name(remote.name)}" if missing else ""


def count_unsent(connection: Connection, space: int, remote: OpenRemote) -> int:
    """Count the turns that are new here since the last push and did not come from that remote."""
    low = 0 if remote.state.pushed is None else int(remote.state.pushed.split(".")[1])
    high = read_counter(connection, space).seq
    among, held = arrivals_among(connection, space, low + 1, high), remote.held
    arrived = (each for each in among if each.first > held.get((each.remote, each.device), each.first))
    return high - low - sum(min(each.last, high) - max(each.first, low + 1) + 1 for each in arrived)


def find_diverged(connection: Connection, space: int, remote: bytes) -> tuple[str, ...]:
    """The bookmarks that have diverged from those of a device, as ``DEVICE/NAME``."""
    named = [each for each in list_remote_bookmarks(connection, space) if each.remote == remote and each.turn]
    related = [_relate(connection, space, each) for each in named]
    return tuple(each.name for each in related if each is not None and each.outcome == DIVERGED)


def find_elsewhere(connection: Connection, space: int, name: bytes) -> list[NameElsewhere]:
    """Compare a bookmark with those of the same name on other devices. A device of two remotes is listed once if both
    agree."""
    related = [_relate(connection, space, each) for each in bookmarks_called(connection, space, name)]
    return [*dict.fromkeys(each for each in related if each is not None)]


def _relate(connection: Connection, space: int, named: RemoteBookmark) -> NameElsewhere | None:
    """Compare a device's bookmark with the one here. None if the name is not here, or its turn has not arrived."""
    place = find_bookmark(connection, space, named.name)
    here = None if place is None else turn_at(connection, space, place)
    there = None if named.turn is None else turn_by_id(connection, space, named.turn)
    if here is None or there is None:
        return None
    called = f"{stored_name(named.device)}/{stored_name(named.name)}"
    return NameElsewhere(called, there.id, compare(connection, space, here, there))
