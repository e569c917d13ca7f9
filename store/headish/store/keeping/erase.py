"""Verbs that erase turns and whole spaces, and collect what nothing uses any more. ``store.erasures`` are the
receipts."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Literal

from msgspec.structs import replace

from headish.content.facts import read_short
from headish.content.receipts import decode_receipt
from headish.content.strictjson import check_text
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import DatabaseError, InvalidArgument, UnknownErasure, shown
from headish.history.erasing.choosing import Wish
from headish.history.erasing.collect import collect, scrub
from headish.history.erasing.erase import erase as erase_turns
from headish.history.erasing.erase import plan
from headish.history.erasing.names import erase_name, find_name, forget_name
from headish.history.erasing.spaces import erase_space, find_in_space
from headish.history.reading.find import find_place
from headish.history.reading.verified import PROVEN
from headish.history.tombstones import ErasureGrounds
from headish.history.writing.messages import KNOWN
from headish.rows.counters import lock_counter, lock_space
from headish.rows.spaces import space_numbers
from headish.rows.upkeep.receipts import all_receipts, has_receipt, is_scrubbed, read_receipt
from headish.store.connections import Connections, number_of
from headish.store.keeping.spooled import count_spooled, words_of_spooled
from headish.store.space import Headishes, Space, SpacePart
from headish.values.checks.doors import COUNT_LIMIT, door
from headish.values.grammar import Headish, parse_headishes
from headish.values.ids import KeptIds
from headish.values.limits import REASON_LIMIT_BYTES
from headish.values.names import check_name
from headish.values.places import Place
from headish.values.results.erasures import SCOPES, Collected, Erasure, Found, Receipt
from headish.values.times import milliseconds_of

log = logging.getLogger("headish")


@door()
def erase(
    space: Space,
    headish: Headishes,
    *,
    scope: Literal["turn", "thread", "branch"] = "turn",
    said_before: datetime | None = None,
    meta: bool = False,
    content: bool = False,
    repeats: bool = False,
    reason: str,
    by: str | None = None,
    keep_name: bool = False,
    dry_run: bool = False,
    scrub: bool = True,
) -> Erasure:
    """Erase what turns say. They stay where they are, as tombstones: id, role, links, times and hashes remain.

    - ``scope``: ``turn``, the named ones; ``thread``, every turn that leads to one; ``branch``, those of them that lead
      to no other branch, bookmark or remembered move. ``said_before`` narrows it down.
    - ``meta``: also what the turns say of themselves: attributes, options, ``meta``, the bookmark that moved along. Of
      a key its hash stays, so that an import recognises the turn.
    - ``content``: remove the same bytes from every turn of the space, and refuse them from now on (BarredContent).
    - ``repeats``: also turns that are versions or copies of one, or overlays over it, and titles that repeat it.
    - ``keep_name``: keep a bookmark even if nothing of its thread is left. Otherwise ``thread`` and ``branch`` remove
      it with title, tags and key; its history stays as ``erased-N``. Turns keep the name until ``meta`` removes it.
    - ``dry_run``: find what would go and what would stay, and change nothing.

    ``reason`` (and ``by``) are kept in the receipt and shown to readers. Equal bytes of other turns stay, and are
    counted. On SQLite the file is rewritten, so that nothing of it stays on the disk; ``scrub=False`` leaves that to
    ``Database.gc``, for many erasures in a row.
    Cost: reads the space a few times, and writes a row for each turn; then the whole file, on SQLite.
    Raises: UnknownTurn, Ambiguous, InvalidArgument, CorruptTurn. Nothing is erased then.
    """
    wish = _read_wish(scope, said_before, meta=meta, content=content, repeats=repeats, names=not keep_name)
    spooled = count_spooled(space._database, space.space)
    grounds = _not_reaching(read_grounds(reason, by, space._open_backend()), spooled)
    parsed = parse_headishes(headish)
    if not parsed:
        raise InvalidArgument("an erasure needs a headish")
    if dry_run:
        found = space._read(
            lambda connection: plan(connection, space._number, _ends(connection, space, parsed), wish).found
        )
        return Erasure(replace(found, copies=tuple(space._backend.copies()), spooled=spooled))
    mint = KeptIds(space._database.mint)

    def work(connection: Connection) -> tuple[Found, Receipt | None]:
        # If the database asks for the work again, it mints the same ids, and after a lost answer they tell whether it
        # was stored.
        mint.rewind()
        found, receipt = erase_turns(connection, space._number, _ends(connection, space, parsed), wish, grounds, mint)
        for name in found.names_gone:
            of_name = forget_name(connection, space._number, check_name(name), grounds, mint)
            receipt = receipt or of_name
        return found, receipt

    found, receipt = space._write(work, lambda connection, _: _is_stored(connection, space._number, mint))
    found = replace(found, copies=tuple(space._backend.copies()), spooled=spooled)
    return _finish(space._database, found, receipt, scrub=scrub)


class Erasures(SpacePart):
    """The receipts of a space: what was erased, when, by whom and why. ``store.erasures[number]`` is one of them."""

    def __iter__(self) -> Iterator[Receipt]:
        """The receipts, oldest first, with those of scrubs, which removed erased bytes from the disk."""
        return iter(self._space._read_by(_receipts))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: int) -> Receipt:
        """The receipt of an erasure. Raises: UnknownErasure (an InputError and a KeyError)."""
        if type(number) is not int or not 0 < number <= COUNT_LIMIT:
            raise UnknownErasure(number)
        receipt = self._space._read_by(read_receipt, number)
        if receipt is None:
            raise UnknownErasure(number)
        return receipt

    def list(self) -> builtins.list[Receipt]:
        """All receipts, oldest first."""
        return builtins.list(self)

    @property
    def is_scrubbed(self) -> bool:
        """Whether all erased bytes are off the disk."""
        return self._space._read_by(is_scrubbed)


def erase_whole(
    connections: Connections,
    space: str,
    *,
    reason: str,
    by: str | None = None,
    dry_run: bool = False,
    scrub: bool = True,
) -> Erasure:
    """Erase a space: delete its rows, but keep its entry in the list of spaces, for its receipts."""
    find = partial(number_of, name=check_name(space, "space"), target=connections.backend.target)
    spooled = count_spooled(connections, space)
    grounds = _not_reaching(read_grounds(reason, by, connections.backend), spooled)
    if dry_run:
        found = connections.backend.read(lambda connection: find_in_space(connection, find(connection)))
        return Erasure(replace(found, spooled=spooled))
    mint = KeptIds(connections.mint)

    def work(connection: Connection) -> tuple[Found, Receipt, str, int]:
        mint.rewind()
        number = find(connection)
        inside = connection.within(number)
        lock_space(inside, number)
        return *erase_space(inside, number, grounds, mint), number

    def settle(connection: Connection, done: tuple[Found, Receipt, str, int]) -> bool:
        return _is_stored(connection.within(done[3]), done[3], mint)

    found, receipt, became, _ = connections.backend.write(work, settle)
    found = replace(found, copies=tuple(connections.backend.copies()), spooled=spooled)
    return _finish(connections, found, receipt, scrub=scrub, became=became)


def erase_bookmark(
    space: Space, name: bytes, *, reason: str, by: str | None = None, dry_run: bool = False, scrub: bool = True
) -> Erasure:
    """Erase the name of a bookmark: give it another name, and keep its moves."""
    number = space._number
    grounds = read_grounds(reason, by, space._open_backend())
    copies = tuple(space._backend.copies())
    if dry_run:
        found = space._read(lambda connection: find_name(connection, number, name))
        return Erasure(replace(found, copies=copies))
    mint = KeptIds(space._database.mint)

    def work(connection: Connection) -> tuple[Found, Receipt, str]:
        mint.rewind()
        return erase_name(connection, number, name, grounds, mint)

    found, receipt, became = space._write(work, lambda connection, _: _is_stored(connection, number, mint))
    return _finish(space._database, replace(found, copies=copies), receipt, scrub=scrub, became=became)


def collect_all(connections: Connections, *, dry_run: bool = False, forced: bool = False) -> Collected:
    """Collect in every space, then scrub erased bytes off the disk if that was not done yet."""
    backend = connections.backend
    payloads = size = streams = 0
    for number, _ in backend.read(space_numbers):
        work = partial(collect, space=number, dry_run=dry_run)
        inside = backend.within(number)
        counts = inside.read(work) if dry_run else inside.write(partial(_collect_locked, space=number))
        payloads, size, streams = payloads + counts[0], size + counts[1], streams + counts[2]
    files = tuple(backend.remove_parts(dry_run=dry_run))
    if dry_run:
        return Collected(payloads, size, streams, files)
    why = scrub(backend, connections.mint, forced=forced) if forced or backend.scrubs_itself else SERVER
    return Collected(payloads, size, streams, files, not why, why)


def warn_unscrubbed(space: Space) -> None:
    """Warn in the log if erased bytes may still be on the disk: a process died between an erasure and its scrub."""
    if _is_unscrubbed(space):
        log.warning("headish: something was erased and may be on the disk still; 'headish gc' finishes it")


def scrub_arrived(space: Space, erased: int) -> None:
    """Scrub off the disk what arriving erasures removed, and what an earlier attempt could not. On SQLite the number of
    turns does not decide: an erasure may have removed only a name, or barred content. Cost: one statement if nothing is
    left."""
    connections = space._database
    if _is_unscrubbed(space) if connections.backend.scrubs_itself else erased:
        scrub_now(connections)


def _is_unscrubbed(space: Space) -> bool:
    """Whether the disk may have erased bytes of a space that headish can scrub."""
    if not space._backend.scrubs_itself:
        return False
    try:
        return not space._read_by(is_scrubbed)
    except DatabaseError:
        return False  # the next verb that reads reports it


SERVER = "a server keeps dead rows until 'headish gc --scrub', which locks its tables meanwhile"
"""Why an erasure on PostgreSQL does not end with VACUUM (FULL)."""


def _finish(
    connections: Connections, found: Found, receipt: Receipt | None, *, scrub: bool, became: str | None = None
) -> Erasure:
    if receipt is None:
        return Erasure(found)
    KNOWN.clear()  # drafts have the erased words
    # After the commit: a reader before it could have put the old rows back. Other processes keep the rows that they
    # read until newer ones replace them.
    PROVEN.clear()
    if not scrub and connections.backend.scrubs_itself:
        return Erasure(found, receipt, False, "it was not asked for; 'headish gc' does it", became)
    why = scrub_now(connections)
    return Erasure(found, receipt, not why, why, became)


def _on_a_server(connections: Connections) -> str:
    """Remove erased values from a server's statistics, which everybody can read. Dead rows stay: nobody can read them.
    Return why bytes are still on its disk."""
    why = connections.backend.forget_statistics()
    return (
        f"{SERVER}; its statistics may hold words of it until the owner of the tables does that ({why})"
        if why
        else SERVER
    )


def scrub_now(connections: Connections) -> str:
    """Scrub erased bytes off the disk; on a server, out of its statistics. Return why they are still on the disk, or an
    empty text."""
    if not connections.backend.scrubs_itself:
        return _on_a_server(connections)
    try:
        return scrub(connections.backend, connections.mint)
    except DatabaseError as error:
        return error.reason  # not raised: the turns are erased, and nobody may take that for undone


def _collect_locked(connection: Connection, space: int) -> tuple[int, int, int]:
    # Not ``lock_space``, which refuses an erased space: its receipts stay, and its rest has to be collected, too.
    lock_counter(connection, space)
    return collect(connection, space, dry_run=False)


def _receipts(connection: Connection, space: int) -> builtins.list[Receipt]:
    return [decode_receipt(each.receipt, each.number) for each in all_receipts(connection, space)]


def _ends(connection: Connection, space: Space, parsed: builtins.list[Headish]) -> builtins.list[Place]:
    return list(dict.fromkeys(find_place(connection, space._number, each) for each in parsed))


def _not_reaching(said: ErasureGrounds, spooled: int) -> ErasureGrounds:
    return said._replace(not_reached=(*said.not_reached, *words_of_spooled(spooled)))


def _is_stored(connection: Connection, space: int, kept: KeptIds) -> bool:
    return bool(kept.ids) and has_receipt(connection, space, kept.ids[0])


def _read_wish(scope: object, said_before: object, *, meta: bool, content: bool, repeats: bool, names: bool) -> Wish:
    if scope not in SCOPES or not isinstance(scope, str):
        raise InvalidArgument(f"scope is {', '.join(SCOPES)}, not {shown(scope)}")
    before = None
    if said_before is not None:
        if not isinstance(said_before, datetime) or said_before.utcoffset() is None:
            raise InvalidArgument(f"said_before takes a datetime with a zone, not {shown(said_before)}")
        before = milliseconds_of(said_before)
    return Wish(scope, before, meta, content, repeats, names and scope != "turn")


def read_grounds(reason: object, by: str | None, backend: Backend) -> ErasureGrounds:
    """Read why and by whom something is erased. Raises: InvalidArgument, InvalidContent."""
    # Checked before it is encoded: it may be huge, or have half of a character.
    if not isinstance(reason, str) or not reason.strip() or len(reason) > REASON_LIMIT_BYTES:
        raise InvalidArgument(f"reason is text of 1 to {REASON_LIMIT_BYTES} bytes, not {shown(reason)}")
    check_text(reason, "reason")
    if len(reason.encode()) > REASON_LIMIT_BYTES:
        raise InvalidArgument(f"reason is text of 1 to {REASON_LIMIT_BYTES} bytes, not {len(reason.encode())}")
    # A caller's own class of text cannot be encoded.
    return ErasureGrounds(
        str.__str__(reason), None if by is None else str.__str__(read_short("by", by)), backend.not_reached
    )
