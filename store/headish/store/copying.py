"""The verb that copies threads into another space of the same database."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from headish.answers.journal import About
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidName, UnknownSpace
from headish.history.copies import Copied, copy_threads
from headish.history.find import find_place
from headish.rows.counters import lock_space
from headish.rows.definitions import POINTER, TOOLS, find_definition
from headish.rows.spaces import find_space
from headish.rows.streams import open_streams
from headish.rows.turns import turn_by_id
from headish.store.space import Headishes, Space
from headish.values.doors import door
from headish.values.grammar import parse_headishes
from headish.values.ids import TurnId
from headish.values.names import check_name, stored_name


@door()
def copy_to(space: Space, to: str, headish: Headishes = "@", *, keep: bool = True) -> Copied:
    """Copy the threads that lead to a headish, or to several, into another space of the database, in one transaction.

    Ids, times, keys, digests, seals and documents stay as they are, and the bookmarks that point at these turns go
    along. A turn that is there already is not stored twice, so a thread that has grown can be copied again. Without
    ``keep`` the bookmarks are removed here; the turns stay in both spaces, since a turn never goes. A bookmark that the
    other space has must be on the way to where it goes.
    Provider pointers, tools and answers that are still arriving stay here: what the threads need of them is named.
    Cost: about eight statements for each new turn.
    Raises: UnknownSpace, UnknownTurn, InvalidArgument for this space itself; TurnTaken for an id that the other space
    has with another seal, or a key that it has; BookmarkTaken; CorruptTurn. Nothing is stored then.
    """
    name = check_name(to, "space")
    parsed = parse_headishes(headish)
    if not parsed:
        raise InvalidArgument("a copy needs a headish")
    source = space._number

    def work(connection: Connection) -> Copied:
        target = find_space(connection, name)
        if target is None:
            raise UnknownSpace(space._backend.target, to)
        if target == source:
            raise InvalidArgument(f"the turns are in the space {to!r} already")
        for number in sorted((source, target)):  # in one order, so that two copies cannot wait for each other
            lock_space(connection, number)
        ends = list(dict.fromkeys(find_place(connection, source, each) for each in parsed))
        copier, names = copy_threads(connection, source, target, ends, space._database.mint, keep=keep)
        ids = {each.id for each in copier.arrived.values()}
        return Copied(
            tips=tuple(copier.arrived[end].id for end in ends),
            stored=copier.stored,
            known=len(copier.arrived) - copier.stored,
            names=tuple(map(stored_name, names)),
            pointers=_missing(connection, target, POINTER, copier.pointers),
            servers=_missing(connection, target, TOOLS, copier.servers),
            streams=_arriving(connection, source, ids),
        )

    def settle(connection: Connection, done: Copied) -> bool:
        target = find_space(connection, name)
        return target is not None and all(turn_by_id(connection, target, each) is not None for each in done.tips)

    return space._open_backend().write(work, settle)


def _missing(connection: Connection, target: int, kind: str, names: Collection[str]) -> tuple[str, ...]:
    """Those of the definitions that the space does not have."""
    return tuple(name for name in sorted(names) if not _has(connection, target, kind, name))


def _has(connection: Connection, target: int, kind: str, name: str) -> bool:
    try:
        return find_definition(connection, target, kind, check_name(name)) is not None
    except InvalidName:
        return False


def _arriving(connection: Connection, source: int, ids: Collection[TurnId]) -> tuple[TurnId, ...]:
    """The open streams that answer one of the turns."""
    found = []
    for stream in open_streams(connection, source):
        try:
            about = msgspec.json.decode(stream.about, type=About)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # damaged: ``verify`` says so
        if not set(about.turns).isdisjoint(ids):
            found.append(stream.id)
    return tuple(found)
