"""Calls that passed the gateway and are not stored yet: an erasure does not reach what they said."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from headish.database.identity import identify
from headish.database.urls import parse_url, server_arguments
from headish.rows.calls import known_calls
from headish.rows.spaces import find_space
from headish.store.connections import Connections
from headish.values.names import check_name

POSTGRESQL_PORT = 5432


def find_serve_folder(target: str | os.PathLike[str]) -> Path | None:
    """The folder of a server of this database: beside a file, else among the user's state, by a digest of where its
    server is and what it is called; None for a database in memory. Raises: InvalidArgument for what is no database."""
    found = identify(target)
    if found is None:
        return None
    if "://" not in found.target:
        return Path(f"{found.target}.serve")
    from platformdirs import user_state_path  # late: only who serves or erases asks

    return user_state_path("headish") / "serve" / hashlib.sha256(_name_of(found.target).encode()).hexdigest()[:16]


def _name_of(url: str) -> str:
    """What names a database of a server. Who opens it, and with which password and options, is no part of that: with a
    new password the calls that wait must be found again, and an erasure by another login must count them."""
    try:
        told = server_arguments(parse_url(url))
    except ValueError:
        return url  # refused where it is opened
    host, port = str(told.get("host") or "").lower(), str(told.get("port") or POSTGRESQL_PORT)
    return "\0".join((host, port, str(told.get("dbname") or told.get("user") or ""), str(told.get("service") or "")))


def count_spooled(connections: Connections, space: str) -> int:
    """How many calls of a space stand in this machine's spool and are not stored.

    Cost: where nothing is spooled, a look into a folder; else a few bytes of each frame, and a statement for 64 calls.
    """
    from headish.gateway.spool import calls_in  # late: most databases are not served
    from headish.gateway.spool.state import SPOOL_FOLDER, read_state

    folder = find_serve_folder(connections.target)
    calls = {} if folder is None else calls_in(folder / SPOOL_FOLDER)
    if folder is None or not calls:
        return 0
    state = read_state(folder)
    unnamed = space if state is None else state.space  # without a recorder, nobody says whose a call without a token is
    own = [id for id, begun in calls.items() if (begun.space or unnamed) == space]
    return len(own) - len(_stored(connections, check_name(space, "space"), own))


def _stored(connections: Connections, name: bytes, calls: Collection[str]) -> set[str]:
    backend = connections.backend
    number = backend.read(lambda connection: find_space(connection, name))
    if number is None:
        return set()
    return backend.within(number).read(lambda connection: known_calls(connection, number, calls))


def words_of_spooled(count: int) -> tuple[str, ...]:
    """What an erasure did not reach, in the words of its receipt."""
    return (f"{count:,} {'call' if count == 1 else 'calls'} still in the spool of 'headish serve'",) if count else ()
