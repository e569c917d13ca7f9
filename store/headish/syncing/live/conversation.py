"""A conversation with a store that answers, from the side that asks: its state, and what this store keeps of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from headish.bundles.live import AskHead, AskRanges, Hello, IdRange, LiveHead, RangeAnswer, RangeAnswers
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidBundle
from headish.history.feeds.cursors import Cursor, find_end, parse_cursor
from headish.rows.elsewhere.arrivals import PLAIN, ArrivalOrigin
from headish.syncing.bundling.arriving import SyncTarget, write_locked
from headish.syncing.live.ranges import Different, find_different
from headish.syncing.live.wire import Talk
from headish.syncing.remotes import OpenRemote, RemoteState, SeenLog, save_remote
from headish.values.names import stored_name


class LiveSync:
    """A running conversation. ``space`` is the name of the space.

    ``remote`` is what this store keeps of the other one now, ``there`` the other store's cursor at the beginning.
    ``compared_at`` is this store's commit number when both were compared, None before that.
    """

    def __init__(self, target: SyncTarget, wire: Talk, remote: OpenRemote, space: str) -> None:
        self.target, self.wire, self.remote = target, wire, remote
        cursor = remote.state.met or remote.state.pulled
        self.welcome = wire.greet(Hello(space, remote.settings.label, cursor))
        self.there = self.cursor(self.welcome.cursor)
        if not self.welcome.holds:
            self._begin_anew()
        self.compared_at: int | None = None
        self._different: Different | None = None
        self._head: LiveHead | None = None

    def _begin_anew(self) -> None:
        """Forget how far each side was at the other: a history that was put back lost what came later.

        This is stored before anything moves, since a push alone, or half of a sync, makes that history go on from a new
        end, and the next sync would not notice.
        """
        state = self.remote.state
        anew = replace(state, pulled=None, pushed=None, taken=0, signed=0, signed_there=0)
        if anew != state:
            self.note(anew)

    @property
    def label(self) -> str:
        """The name of the other store here: that of its remote."""
        return stored_name(self.remote.name)

    @property
    def origin(self) -> ArrivalOrigin:
        """The origin of the turns that come over this conversation."""
        remote = self.remote
        return ArrivalOrigin(PLAIN, remote.name, remote.settings.device, remote.name)

    def head(self) -> LiveHead:
        """The other store's names and records of conversations, asked for once."""
        if self._head is None:
            self._head = self.wire.ask(AskHead(), LiveHead)
        return self._head

    def compare(self) -> Different | None:
        """The turns that only one side has; None if they are too many, or the other side has none. Asked for once."""
        if self.compared_at is None and self.there.seq:
            backend, space = self.target.backend, self.target.space
            # Before the comparison: a turn that is added while it runs is offered afterwards instead of forgotten.
            self.compared_at = backend.read(lambda connection: find_end(connection, space)).seq
            self._different = find_different(backend, space, self._ask_ranges, self.wire.name)
        return self._different

    def _ask_ranges(self, ranges: Sequence[IdRange]) -> Sequence[RangeAnswer]:
        return self.wire.ask(AskRanges(tuple(ranges)), RangeAnswers).answers

    def cursor(self, text: str) -> Cursor:
        """Parse a cursor from the other store. Raises: InvalidBundle."""
        try:
            return parse_cursor(text)
        except InvalidArgument as error:
            raise InvalidBundle(self.wire.name, str(error)) from None

    def seen(self) -> SeenLog:
        """The other store's state as this store saw it last."""
        return self.remote.state.seen.get(self.remote.settings.device, SeenLog(self.label))

    def seen_with(self, erased: tuple[str, ...]) -> dict[str, SeenLog]:
        """``RemoteState.seen`` with the other store, met now, and the erasures that it has applied."""
        # One entry: at the other end of a live remote there is one store alone.
        now = time.time_ns() // 1_000_000
        return {self.remote.settings.device: replace(self.seen(), erased=erased, made_at=now)}

    def moved_on(self, before: str, after: str, *, is_ours: bool) -> RemoteState:
        """Return the state after a change there that took the other store from cursor ``before`` to ``after``.
        ``is_ours``: this store alone made it, so there is nothing to read back."""
        state = self.remote.state
        return replace(state, met=after, pulled=after if is_ours and state.pulled == before else state.pulled)

    def note(self, state: RemoteState) -> None:
        """Store ``state`` in a transaction of its own."""
        write_locked(self.target, partial(self.keep, state=state))

    def keep(self, connection: Connection, state: RemoteState) -> None:
        """Store ``state``. Requires the lock of the space."""
        self.remote = save_remote(connection, self.target.space, self.remote, self.remote._replace(state=state))
