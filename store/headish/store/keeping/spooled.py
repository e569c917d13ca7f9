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
    """The folder of a ``headish serve`` of this database: beside the file of a SQLite database; for one on a server, in
    the user's state folder, under a digest of its address and name. None for a database in memory.

    Raises: InvalidArgument if this is not a database.
    """
    identity = identify(target)
    if identity is None:
        return None
    if "://" not in identity.target:
        return Path(f"{identity.target}.serve")
    from platformdirs import user_state_path  # late: few programs serve or erase

    return user_state_path("headish") / "serve" / hashlib.sha256(_name_of(identity.target).encode()).hexdigest()[:16]


def _name_of(url: str) -> str:
    """The address and name of a database on a server, without login, password and options: after a new password the
    waiting calls must be found again, and an erasure by another login must count them."""
    try:
        arguments = server_arguments(parse_url(url))
    except ValueError:
        return url  # opening it will refuse it
    host, port = str(arguments.get("host") or "").lower(), str(arguments.get("port") or POSTGRESQL_PORT)
    return "\0".join(
        (host, port, str(arguments.get("dbname") or arguments.get("user") or ""), str(arguments.get("service") or ""))
    )


def count_spooled(connections: Connections, space: str) -> int:
    """Count the calls of a space that are in this machine's spool and not stored yet.

    Cost: if nothing is spooled, a look into a folder; else a few bytes of each frame, and a statement for 64 calls.
    """
    from headish.gateway.spool import calls_in  # late: most databases are not served
    from headish.gateway.spool.state import SPOOL_FOLDER, read_state

    folder = find_serve_folder(connections.target)
    calls = {} if folder is None else calls_in(folder / SPOOL_FOLDER)
    if folder is None or not calls:
        return 0
    state = read_state(folder)
    unnamed = space if state is None else state.space  # without a recorder, a call without a token may be of any space
    own = [id for id, begun in calls.items() if (begun.space or unnamed) == space]
    return len(own) - len(_stored(connections, check_name(space, "space"), own))


def _stored(connections: Connections, name: bytes, calls: Collection[str]) -> set[str]:
    backend = connections.backend
    number = backend.read(lambda connection: find_space(connection, name))
    if number is None:
        return set()
    return backend.within(number).read(lambda connection: known_calls(connection, number, calls))


def words_of_spooled(count: int) -> tuple[str, ...]:
    """The words in a receipt for the calls that its erasure did not reach."""
    return (f"{count:,} {'call' if count == 1 else 'calls'} still in the spool of 'headish serve'",) if count else ()
