"""The verb that copies threads into another space, of the same database or of another one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidName
from headish.history.reading.find import find_place
from headish.history.writing.copies import Copied, Side, copy_threads
from headish.rows.counters import lock_space
from headish.rows.definitions import POINTER, TOOLS, find_definition
from headish.rows.streams import open_streams
from headish.rows.turns import turn_by_id
from headish.store.answers.journal import About
from headish.store.connections import number_of
from headish.store.space import STUMBLING, Headishes, Space
from headish.values.checks.doors import Kind, door
from headish.values.grammar import Headish, parse_headishes
from headish.values.ids import Mint, TurnId
from headish.values.names import check_name

SPACE = Kind(lambda value: isinstance(value, str | Space), "the name of a space, or a store")


@door(to=SPACE)
def copy_to(space: Space, to: str | Space, headish: Headishes = "@", *, keep: bool = True) -> Copied:
    """Copy the threads that lead to a headish, or to several, into another space, in one transaction.

    ``to`` is the name of a space of this database, or an open store, of another database too. Ids, times, keys,
    digests, seals and documents stay as they are, and the bookmarks that point at these turns go along with the records
    of their conversations. A thread that has grown can be copied again. Without ``keep`` the bookmarks are removed here
    (only for a space of this database). A bookmark that the other space has may only move forward, from its turn or
    from an equal one; if it points at a turn equal to the one here, it stays. A key that is taken there stays with its
    turn, or with its conversation if that begins with an equal turn. A document that a message refers to goes along,
    unless it continues turns that are not copied. The result names such documents, and the provider pointers, tools and
    arriving answers of the threads, which stay here.
    Cost: about one statement for fifty new turns, one for each large payload, five for each bookmark.
    Raises: UnknownSpace, UnknownTurn, InvalidArgument for this space itself; TurnTaken for an id that the other space
    has with another seal; BookmarkTaken; KeyTaken for the key of another conversation; QuotaExceeded; CorruptTurn.
    Nothing is stored then.
    """
    parsed = parse_headishes(headish)
    if not parsed:
        raise InvalidArgument("a copy needs a headish")
    backend = space._open_backend()
    try:
        # Two stores of one database share a transaction; those of two databases need one each.
        if isinstance(to, Space) and to._database is not space._database:
            return _copy_into(space, to, parsed, keep)
        return _copy_within(space, to._number if isinstance(to, Space) else check_name(to, "space"), parsed, keep)
    except STUMBLING as error:
        space._find_damage(backend, error)
        raise


def _copy_within(space: Space, to: bytes | int, parsed: Sequence[Headish], keep: bool) -> Copied:
    """Copy into another space of the same database, given by its name or its number."""

    def find(connection: Connection) -> int:
        return to if isinstance(to, int) else number_of(connection, to, space._backend.target)

    def work(connection: Connection) -> Copied:
        target = find(connection)
        if target == space._number:
            raise InvalidArgument(f"the turns are in the space {space.space!r} already")
        for number in sorted((space._number, target)):  # in one order, so that two copies cannot wait for each other
            lock_space(connection.within(number), number)
        mint = space._database.mint
        source = Side(connection.within(space._number), space._number)
        return _copy(source, Side(connection.within(target), target), parsed, mint, keep=keep)

    def is_there(connection: Connection, done: Copied) -> bool:
        target = find(connection)
        return _has_tips(connection.within(target), target, done)

    return space._open_backend().write(work, is_there)


def _copy_into(space: Space, to: Space, parsed: Sequence[Headish], keep: bool) -> Copied:
    """Copy into a space of another database: one transaction reads this one while one writes the other."""
    if not keep:
        raise InvalidArgument("bookmarks leave a space for one of the same database only: give keep=True")
    source = space._open_backend()

    def work(connection: Connection) -> Copied:
        lock_space(connection, to._number)
        target = Side(connection, to._number)
        return source.read(
            lambda reading: _copy(Side(reading, space._number), target, parsed, to._database.mint, keep=keep)
        )

    return to._open_backend().write(work, lambda connection, copied: _has_tips(connection, to._number, copied))


def _copy(source: Side, target: Side, parsed: Sequence[Headish], mint: Mint, *, keep: bool) -> Copied:
    ends = list(dict.fromkeys(find_place(*source, each) for each in parsed))
    copier, copied = copy_threads(source, target, ends, mint, keep=keep)
    return replace(
        copied,
        pointers=_missing(*target, POINTER, copier.pointers),
        servers=_missing(*target, TOOLS, copier.servers),
        streams=_arriving(*source, {each.id for each in copier.arrived.values()}),
    )


def _has_tips(connection: Connection, target: int, done: Copied) -> bool:
    return all(turn_by_id(connection, target, each) is not None for each in done.tips)


def _missing(connection: Connection, target: int, kind: str, names: Collection[str]) -> tuple[str, ...]:
    """The names of the definitions that the space does not have."""
    return tuple(name for name in sorted(names) if not _has(connection, target, kind, name))


def _has(connection: Connection, target: int, kind: str, name: str) -> bool:
    try:
        return find_definition(connection, target, kind, check_name(name)) is not None
    except InvalidName:  # options may name anything
        return False


def _arriving(connection: Connection, source: int, ids: Collection[TurnId]) -> tuple[TurnId, ...]:
    """The ids of open streams that answer one of the turns."""
    arriving = []
    for stream in open_streams(connection, source):
        try:
            about = msgspec.json.decode(stream.about, type=About)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # damaged: ``verify`` says so
        if not set(about.turns).isdisjoint(ids):
            arriving.append(stream.id)
    return tuple(arriving)
