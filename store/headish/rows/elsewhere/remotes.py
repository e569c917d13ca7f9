"""Rows of ``remote`` and ``remote_bookmark``: the remotes of a space, and the bookmarks of the devices there."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from headish.content.hashes import seal_remote, seal_remote_bookmark
from headish.database.query import Connection, Query
from headish.values.ids import TurnId


class StoredRemote(NamedTuple):
    """A row of ``remote``; ``settings`` and ``state`` as stored JSON."""

    name: bytes
    url: bytes
    settings: bytes
    state: bytes
    milliseconds: int
    seal: bytes


class RemoteBookmark(NamedTuple):
    """A bookmark of a device when it was last read: the turn, None for a conversation without a name; and ``record``,
    hashes of the conversation's record there."""

    remote: bytes
    device: bytes
    name: bytes
    turn: TurnId | None
    record: bytes | None
    milliseconds: int
    seal: bytes


REMOTES = Query(
    "remotes", "SELECT name, url, settings, state, milliseconds, seal FROM remote WHERE space = :space ORDER BY name"
)


def list_remotes(connection: Connection, space: int) -> list[StoredRemote]:
    """The remotes of a space, by name."""
    return [*map(StoredRemote._make, connection.rows(REMOTES, space=space))]


WRITE_REMOTE = Query(
    "write a remote",
    """
    INSERT INTO remote (space, name, url, settings, state, milliseconds, seal)
    VALUES (:space, :name, :url, :settings, :state, :milliseconds, :seal)
    ON CONFLICT (space, name) DO UPDATE
    SET url = excluded.url, settings = excluded.settings, state = excluded.state, milliseconds = excluded.milliseconds,
      seal = excluded.seal
    """,
)


def write_remote(connection: Connection, space: int, name: bytes, url: bytes, settings: bytes, state: bytes) -> None:
    """Store a remote in place of an earlier one with the same name."""
    now = time.time_ns() // 1_000_000
    seal = seal_remote(name, url, settings, state, now)
    connection.run(
        WRITE_REMOTE, space=space, name=name, url=url, settings=settings, state=state, milliseconds=now, seal=seal
    )


REMOVE_REMOTE = Query("remove a remote", "DELETE FROM remote WHERE space = :space AND name = :name")
REMOVE_BOOKMARKS = Query(
    "remove what the devices of a remote call what",
    "DELETE FROM remote_bookmark WHERE space = :space AND remote = :name",
)


def remove_remote(connection: Connection, space: int, name: bytes) -> bool:
    """Remove a remote and the bookmarks of its devices. False if there is no such remote."""
    connection.run(REMOVE_BOOKMARKS, space=space, name=name)
    return connection.run(REMOVE_REMOTE, space=space, name=name) == 1


_BOOKMARK = "remote, device, name, turn, record, milliseconds, seal"
BOOKMARKS = Query(
    "what the devices of all remotes call what",
    f"""
    SELECT {_BOOKMARK} FROM remote_bookmark WHERE space = :space AND (remote, device, name) > (:remote, :device, :name)
    ORDER BY remote, device, name LIMIT :limit
    """,
)
PAGE = 1000


def list_remote_bookmarks(connection: Connection, space: int) -> list[RemoteBookmark]:
    """The bookmarks of the devices of all remotes when they were last read. Cost: one statement for each thousand."""
    bookmarks: list[RemoteBookmark] = []
    while True:
        behind = bookmarks[-1] if bookmarks else RemoteBookmark(b"", b"", b"", None, None, 0, b"")
        after = {"remote": behind.remote, "device": behind.device, "name": behind.name}
        page = connection.rows(BOOKMARKS, space=space, limit=PAGE, **after)
        bookmarks += map(RemoteBookmark._make, page)
        if len(page) < PAGE:
            return bookmarks


OF_DEVICE = Query(
    "what a device calls what",
    f"SELECT {_BOOKMARK} FROM remote_bookmark WHERE space = :space AND remote = :remote AND device = :device",
)


def bookmarks_of_device(
    connection: Connection, space: int, remote: bytes, device: bytes
) -> dict[bytes, RemoteBookmark]:
    """The bookmarks of a device when it was last read, by name."""
    rows = connection.rows(OF_DEVICE, space=space, remote=remote, device=device)
    return {bytes(row[2]): RemoteBookmark._make(row) for row in rows}


NAMED_BY_DEVICE = Query(
    "the turns that devices call so",
    "SELECT turn FROM remote_bookmark WHERE space = :space AND device = :device AND name = :name AND turn IS NOT NULL",
)


def turns_named_there(connection: Connection, space: int, device: bytes, name: bytes) -> Sequence[TurnId]:
    """The turns that a device has under a name, one for each remote that knows the device."""
    return [row[0] for row in connection.rows(NAMED_BY_DEVICE, space=space, device=device, name=name)]


CALLED_SO = Query(
    "where devices have a name",
    f"""
    SELECT {_BOOKMARK} FROM remote_bookmark WHERE space = :space AND name = :name AND turn IS NOT NULL
    ORDER BY device, remote
    """,
)


def bookmarks_called(connection: Connection, space: int, name: bytes) -> list[RemoteBookmark]:
    """The bookmarks with this name of the devices of all remotes when they were last read, by device."""
    return [*map(RemoteBookmark._make, connection.rows(CALLED_SO, space=space, name=name))]


WRITE_BOOKMARK = Query(
    "note what a device calls a turn",
    """
    INSERT INTO remote_bookmark (space, remote, device, name, turn, record, milliseconds, seal)
    VALUES (:space, :remote, :device, :name, :turn, :record, :milliseconds, :seal)
    ON CONFLICT (space, remote, device, name) DO UPDATE
    SET turn = excluded.turn, record = excluded.record, milliseconds = excluded.milliseconds, seal = excluded.seal
    """,
)


def write_remote_bookmarks(
    connection: Connection,
    space: int,
    remote: bytes,
    device: bytes,
    said: Collection[tuple[bytes, TurnId | None, bytes | None]],
) -> None:
    """Store bookmarks of a device: ``(name, turn, record)`` each."""
    now = time.time_ns() // 1_000_000
    rows = [
        {
            "space": space, "remote": remote, "device": device, "name": name, "turn": turn, "record": record,
            "milliseconds": now, "seal": seal_remote_bookmark(remote, device, name, turn, record, now),
        }
        for name, turn, record in said
    ]  # fmt: skip
    if rows:
        connection.run_many(WRITE_BOOKMARK, rows)


FORGET_BOOKMARK = Query(
    "forget what a device calls a turn",
    "DELETE FROM remote_bookmark WHERE space = :space AND remote = :remote AND device = :device AND name = :name",
)


def forget_remote_bookmarks(
    connection: Connection, space: int, remote: bytes, device: bytes, names: Collection[bytes]
) -> None:
    """Remove bookmarks that a device does not have any more."""
    rows = [{"space": space, "remote": remote, "device": device, "name": name} for name in names]
    if rows:
        connection.run_many(FORGET_BOOKMARK, rows)


FORGET_DEVICE = Query(
    "forget a device of a remote",
    "DELETE FROM remote_bookmark WHERE space = :space AND remote = :remote AND device = :device",
)


def forget_device(connection: Connection, space: int, remote: bytes, device: bytes) -> None:
    """Remove all bookmarks of a device."""
    connection.run(FORGET_DEVICE, space=space, remote=remote, device=device)


FORGET_NAME = Query(
    "forget a name that devices give", "DELETE FROM remote_bookmark WHERE space = :space AND name = :name"
)


def forget_name_of_devices(connection: Connection, space: int, name: bytes) -> None:
    """Remove a name from the bookmarks of every device, because it was erased here."""
    connection.run(FORGET_NAME, space=space, name=name)
