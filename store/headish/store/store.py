"""A store: the verbs and the parts of one space. This module lists them; each verb is in the module of its kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from headish.database.backend import Durability
from headish.errors import HeadishError
from headish.rows.spaces import left_undone
from headish.store.connections import Connections
from headish.store.later import Later
from headish.store.space import Space
from headish.values.checks.doors import door
from headish.values.limits import PAYLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from headish.store.asking.batches import Batches
    from headish.store.asking.pointers import Pointers
    from headish.store.asking.streams import Streams
    from headish.store.asking.tools import Tools
    from headish.store.connections import Isolation
    from headish.store.keeping.bookmarks import Bookmarks
    from headish.store.keeping.bundles import Bundles
    from headish.store.keeping.calls import Calls
    from headish.store.keeping.conversations import Conversations
    from headish.store.keeping.erase import Erasures
    from headish.store.keeping.objects import Objects
    from headish.store.keeping.remotes import Remotes
    from headish.store.transactions.reading import ReadTransaction
    from headish.store.transactions.writing import WriteTransaction
    from headish.values.results.exports import Backup
    from headish.values.turns import Turn
    from headish.verify.space import Progress

if TYPE_CHECKING:
    from headish.store import asking, keeping, reading, writing
else:
    # A command uses few verbs: it must not wait for the imports of the others.
    asking, keeping = Later("headish.store.asking"), Later("headish.store.keeping")
    reading, writing = Later("headish.store.reading"), Later("headish.store.writing")

T = TypeVar("T")


class Store(Space):
    """One space of one database. Safe to share between threads; a context manager.

    A *headish* names a turn: an id or its unique prefix, a bookmark, ``@`` for the newest turn, each with suffixes
    (``headish.values.grammar``). Every verb that takes one raises UnknownTurn, Ambiguous or InvalidHeadish; every verb
    raises DatabaseError if the database fails, and Closed once the store is closed.
    """

    _owns_database = False
    recovered: tuple[Turn, ...] = ()
    """The turns that ``Store.open`` made from answers that dead processes had left behind."""

    # Write
    add_turn = writing.add.add_turn
    add_document = writing.add.add_document
    add_turns = writing.many.add_turns
    record = writing.many.record
    import_file = writing.imports.import_file
    import_changed = writing.imports.import_changed

    # Read
    get = reading.read.get
    find = reading.read.find
    payload = reading.read.payload
    blocks = reading.read.blocks
    text = reading.read.text
    contents = reading.read.contents
    abbreviate = reading.read.abbreviate
    children = reading.lists.children
    heads = reading.lists.heads
    log = reading.threads.log
    messages = reading.threads.messages
    turns = reading.lists.turns
    thread = reading.threads.thread
    tree = reading.lists.tree
    resolve = reading.resolve.resolve
    options = reading.resolve.options
    stretch = reading.pages.stretch
    render = reading.pages.render
    render_pieces = reading.pages.render_pieces
    export = reading.export.export
    export_each = keeping.export_all.export_each
    export_folder = keeping.export_all.export_folder

    # Find
    search = reading.search.search
    reindex = reading.search.reindex

    # Ask
    request = asking.request.request
    lint = asking.request.lint
    reply = asking.reply.reply
    capture = asking.reply.capture
    ask = asking.ask.ask
    say = asking.ask.say
    open_answer = asking.ask.open_answer
    retry = asking.ask.retry
    ask_title = asking.title.ask_title
    open_retry = asking.ask.open_retry
    open_calls = asking.tool_calls.open_calls
    run_tools = asking.tool_calls.run_tools

    # Follow
    follow = reading.follow.follow
    position = reading.follow.position
    at_least = reading.follow.at_least
    audit = reading.audit.audit

    # Change
    edit = writing.edit.edit

    # Compare
    siblings = reading.compare.siblings
    versions = reading.compare.versions
    diff = reading.compare.diff

    # See otherwise
    summarize = writing.overlays.summarize
    hide = writing.overlays.hide
    replace = writing.overlays.replace
    keep = writing.overlays.keep
    unhide = writing.overlays.unhide
    original = writing.overlays.original
    compact = writing.overlays.compact
    tokens = reading.tokens.tokens

    # Copy
    copy_to = writing.copy.copy_to

    # Sign
    sign = keeping.signatures.sign
    signatures = keeping.signatures.signatures

    # Erase
    erase = keeping.erase.erase

    # Report
    usage = reading.reports.usage
    cost = reading.reports.cost
    stats = reading.reports.stats
    verify = reading.reports.verify

    @classmethod
    @door()
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        space: str = "default",
        durability: Durability = "full",
        create: bool = True,
        read_only: bool = False,
        prepared: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
        author: str | None = None,
        isolation: Isolation | None = None,
    ) -> Store:
        """Open one space of a database: the short way. The arguments are those of ``Database.open`` and its ``store``.

        ``create`` makes the space, too. headish recovers answers that a dead process left behind and logs that
        (``headish``), unless the database is open read-only. ``close`` closes the database.
        Raises: as ``Database.open`` and ``Database.store``.
        """
        connections = Connections.open(
            target, durability=durability, create=create, read_only=read_only, prepared=prepared,
            payload_limit_bytes=payload_limit_bytes, isolation=isolation,
        )  # fmt: skip
        try:
            store = cls._enter(connections, space, create=create, author=author)
        except BaseException:
            connections.close()
            raise
        store._owns_database = True
        return store._begin()

    @classmethod
    def _enter(cls, connections: Connections, space: str, *, create: bool, author: str | None) -> Store:
        """Open a space: the work of ``Database.store``."""
        if author is not None:
            from headish.content.facts import read_short  # late: few programs name an author

            author = read_short("author", author)
        return cls(connections, space, connections.enter(space, create=create), author)

    def _begin(self) -> Self:
        """Look after what dead processes left undone, once, when a store is opened. Cost: one statement if there is
        nothing."""
        if not self.read_only:
            has_streams, has_erasures = self._left_undone()
            if has_streams:
                self.recovered = self.streams.recover_quietly()
            # A process may have died between an erasure and its scrub; the log then says so.
            if has_erasures and self._backend.scrubs_itself:
                from headish.store.keeping.erase import warn_unscrubbed

                warn_unscrubbed(self)
        return self

    def _left_undone(self) -> tuple[bool, bool]:
        """Whether any answer has not ended, and whether anything was ever erased; two booleans."""
        try:
            return self._read_by(left_undone)
        except HeadishError:
            return True, False  # the recovery then fails in the same way, and logs why

    @door()
    def backup(
        self,
        dest: str | os.PathLike[str],
        *,
        verify: Literal["full", "quick"] = "full",
        progress: Progress | None = None,
    ) -> Backup:
        """Back up only this space, into a file of frames, as ``Database.backup`` does for all spaces.

        Raises: as ``Database.backup``.
        """
        from headish.store.keeping.backup import back_up

        self._open_backend()
        return back_up(self._database, os.fspath(dest), [self.space.encode()], verify, progress)

    @door()
    def read(self, work: Callable[[ReadTransaction], T]) -> T:
        """Run a function whose reads all see one moment of the space, and return its result.

        headish may run the function again (a lost connection, a lock), so it must have no other effect. It must not
        wait for anything else: it holds a transaction open. Its exceptions are raised unchanged.
        """
        from headish.store.transactions.running import run_read

        return run_read(self, work)

    @door()
    def write(self, work: Callable[[WriteTransaction], T]) -> T:
        """Run a function that writes turns, names, objects and erasures in one transaction, all or nothing; return its
        result once everything is stored.

        The transaction has the space to itself. As with ``read``, headish may run the function again; nothing is stored
        twice. Its exceptions are raised unchanged, and then nothing is stored.
        Cost: that of what it does; the space is locked from its first read on.
        Raises: OutcomeUnknown, QuotaExceeded, ReadOnly, and as the methods of ``WriteTransaction``.
        """
        from headish.store.transactions.running import run_write

        return run_write(self, work)

    @property
    def payload_limit_bytes(self) -> int:
        """The largest payload or object that the database takes."""
        return self._payload_limit_bytes

    @property
    def read_only(self) -> bool:
        """Whether the database was opened read-only: a verb that writes raises ReadOnly."""
        return self._backend.read_only

    @property
    def bookmarks(self) -> Bookmarks:
        """The names of the space, and the turns that they name."""
        from headish.store.keeping.bookmarks import Bookmarks

        return Bookmarks(self)

    @property
    def bundles(self) -> Bundles:
        """Turns as files for other stores."""
        from headish.store.keeping.bundles import Bundles

        return Bundles(self)

    @property
    def pointers(self) -> Pointers:
        """The provider pointers of the space."""
        from headish.store.asking.pointers import Pointers

        return Pointers(self)

    @property
    def tools(self) -> Tools:
        """The tools of MCP servers that the space knows."""
        from headish.store.asking.tools import Tools

        return Tools(self)

    @property
    def conversations(self) -> Conversations:
        """The conversations of the space, with their titles, tags, keys and other records."""
        from headish.store.keeping.conversations import Conversations

        return Conversations(self)

    @property
    def objects(self) -> Objects:
        """Data that programs keep beside the turns, under a kind and a key."""
        from headish.store.keeping.objects import Objects

        return Objects(self)

    @property
    def remotes(self) -> Remotes:
        """Other places that hold the same space."""
        from headish.store.keeping.remotes import Remotes

        return Remotes(self)

    @property
    def calls(self) -> Calls:
        """The calls that passed the gateway."""
        from headish.store.keeping.calls import Calls

        return Calls(self)

    @property
    def batches(self) -> Batches:
        """Batches: requests that a provider answers together, later and at a lower price."""
        from headish.store.asking.batches import Batches

        return Batches(self)

    @property
    def erasures(self) -> Erasures:
        """The receipts of what was erased."""
        from headish.store.keeping.erase import Erasures

        return Erasures(self)

    @property
    def streams(self) -> Streams:
        """The answers that are arriving."""
        from headish.store.asking.streams import Streams

        return Streams(self)

    def close(self) -> None:
        """Close the store, for good, and the database if ``Store.open`` opened it."""
        self._is_closed = True
        if self._owns_database:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self._backend.target} space={self.space!r}>"
