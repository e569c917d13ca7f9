"""``store.streams``: the answers that are arriving, and the recovery of those whose writers died."""

from __future__ import annotations

import builtins
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headish.database.query import Connection
from headish.errors import CorruptRecord, HeadishError, InputError, QuotaExceeded, UnknownStream, shown
from headish.history.writing.append import Appended
from headish.rows import streams
from headish.rows.streams import RECOVERED, StoredStream
from headish.store.asking.reply import append_reply, with_own_names
from headish.store.space import SpacePart
from headish.values.checks.doors import Kind, door
from headish.values.ids import Mint, TurnId, as_turn_id
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.store.asking.unfinished import Fetched

WAIT = Kind(
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 86400,
    "a number of seconds from 0 to 86400",
)
log = logging.getLogger("headish")


class Streams(SpacePart):
    """The answers that are arriving; iterate over the ids of their streams."""

    def __iter__(self) -> Iterator[TurnId]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def list(self) -> builtins.list[TurnId]:
        """The ids of the streams, oldest first."""
        return [each.id for each in self._open()]

    def recover(self, *, force: bool = False) -> builtins.list[Turn]:
        """Make turns of the answers that dead processes left behind, incomplete if their end never arrived.

        A stream whose writer may live (its lease has not run out) is skipped, unless ``force``. If a journal is
        damaged, the events before the damage are kept. A stream that cannot be recovered is named in the log
        (``headish``) and skipped; ``drop`` forgets it.
        Raises: CorruptRecord or QuotaExceeded if there was something to recover, and nothing could be.
        """
        self._space._check_writable()
        recovered, error = self._recover_all(force)
        if error is not None and not recovered:
            raise error
        return recovered

    @door(wait_seconds=WAIT)
    def recover_remote(self, *, wait_seconds: float = 0) -> Fetched:
        """Fetch the answers that are incomplete here and kept by their provider (OpenAI's Responses that were asked
        with ``store`` or ``background``), and store each as the turn that takes the incomplete one's place.

        An answer that is still being made is asked for again until ``wait_seconds`` have passed. Only this verb, and
        ``headish recover --remote``, asks: opening a store never does.
        Cost: the heads of the space are read, and one request is sent for each incomplete answer.
        Raises: InvalidArgument; DatabaseError. ``Fetched.failed`` lists what providers refused.
        """
        from headish.store.asking.unfinished import fetch_all  # late: rarely needed, and it brings the client

        self._space._check_writable()
        return fetch_all(self._space, wait_seconds)

    def drop(self, stream: str) -> None:
        """Forget a stream that cannot be recovered, with its journal. Raises: UnknownStream."""
        space = self._space
        id = as_turn_id(stream) if isinstance(stream, str) else None
        if id is None or not space._write(lambda connection: streams.drop_stream(connection, space._number, id)):
            raise UnknownStream(stream if isinstance(stream, str) else shown(stream))

    def _recover_all(self, force: bool) -> tuple[builtins.list[Turn], HeadishError | None]:
        """Recover all streams that can be recovered; return their turns, and the error of the first that cannot be."""
        now = time.time_ns() // 1_000_000
        turns: builtins.list[Turn] = []
        first: HeadishError | None = None
        for each in self._open():
            if not force and each.expires >= now:
                continue
            try:
                turn = self._recover(each, force=force)
            except (CorruptRecord, InputError, QuotaExceeded) as error:
                # One damaged journal must not keep the others from being recovered, nor one that is too large.
                log.warning("headish: the stream %s cannot be recovered: %s", each.id, error)
                first = first or error
                continue
            turns += [] if turn is None else [turn]
        return turns, first

    def recover_quietly(self) -> tuple[Turn, ...]:
        """``recover`` for a store that is being opened: problems go to the log and stop nothing.

        Where logging is not set up, Python writes warnings to standard error.
        """
        recovered: builtins.list[Turn] = []
        try:
            recovered, _ = self._recover_all(False)
            for turn in recovered:
                log.warning("headish: an answer that was cut off is kept as the incomplete turn %s", turn.id)
        except HeadishError as error:
            log.warning("headish: could not look for answers that were cut off: %s", error)
        return tuple(recovered)

    def _open(self) -> builtins.list[StoredStream]:
        return self._space._read_by(streams.open_streams)

    def _recover(self, found: StoredStream, *, force: bool) -> Turn | None:
        """Make the turn of a stream whose writer is gone; return None if another process was quicker, or if the writer
        still lives."""
        from headish.store.answers.reading import decode_stream, fitting_draft, open_stream  # late: rarely needed

        space = self._space
        chunks = space._read_by(streams.journal_of, found.id)
        about, events = decode_stream(found, chunks)
        reply = with_own_names(space, about, open_stream(about).read(events))
        draft = fitting_draft(about, reply, space._payload_limit_bytes)

        def work(connection: Connection, mint: Mint) -> Appended | StoredStream | None:
            now = streams.lock_stream(connection, space._number, found.id)
            if now is None or now.outcome is not None:
                return None
            if now.expires != found.expires:
                return now
            streams.remove_journal(connection, space._number, found.id)  # first: see ``reply._finish``
            appended = append_reply(space, about, draft, connection, mint).built[0]
            streams.close_stream(connection, space._number, found.id, RECOVERED, appended.turn.id)
            return appended

        ended = space._store(work)
        if isinstance(ended, StoredStream):  # its writer renewed the lease meanwhile, so it lives
            return self._recover(ended, force=True) if force else None
        return None if ended is None else space._as_turn(ended)
