"""A store: the verbs and the parts of one space. This page lists them; each verb stands in the module of its kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from headish.database.backend import Durability
from headish.errors import HeadishError
from headish.rows.streams import has_open_streams
from headish.rows.upkeep.receipts import has_erasures
from headish.store.connections import Connections
from headish.store.space import Space
from headish.values.checks.doors import PATH, door
from headish.values.later import Later
from headish.values.limits import PAYLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from headish.store.asking.batches import Batches
    from headish.store.asking.pointers import Pointers
    from headish.store.asking.streams import Streams
    from headish.store.asking.tools import Tools
    from headish.store.connections import Isolation
    from headish.store.keeping.bookmarks import Bookmarks
    from headish.store.keeping.bundles import Bundles
    from headish.store.keeping.conversations import Conversations
    from headish.store.keeping.erase import Erasures
    from headish.store.keeping.objects import Objects
    from headish.store.keeping.remotes import Remotes
    from headish.store.transactions.reading import ReadTransaction
    from headish.store.transactions.writing import WriteTransaction
    from headish.values.results.backups import Backup
    from headish.values.turns import Turn

if TYPE_CHECKING:
    import headish.store.asking.ask as asking
    import headish.store.reading.resolve as resolving
    import headish.store.reading.tokens as counting
    from headish.store.asking import reply as replies
    from headish.store.asking import request as requests
    from headish.store.asking import title as titles
    from headish.store.asking import tool_calls as calls
    from headish.store.keeping import erase as erasing
    from headish.store.keeping import export_all as exporting
    from headish.store.reading import audit as auditing
    from headish.store.reading import compare as comparing
    from headish.store.reading import export as exports
    from headish.store.reading import follow as feeding
    from headish.store.reading import read, reports
    from headish.store.reading import search as finding
    from headish.store.writing import add as write
    from headish.store.writing import copy as copying
    from headish.store.writing import edit as changing
    from headish.store.writing import imports
    from headish.store.writing import overlays as overlaying
else:
    # A command reads or writes: it does not wait for what it does not need.
    asking = Later("headish.store.asking.ask")
    auditing = Later("headish.store.reading.audit")
    calls = Later("headish.store.asking.tool_calls")
    changing = Later("headish.store.writing.edit")
    comparing = Later("headish.store.reading.compare")
    copying = Later("headish.store.writing.copy")
    erasing = Later("headish.store.keeping.erase")
    exporting = Later("headish.store.keeping.export_all")
    exports = Later("headish.store.reading.export")
    feeding = Later("headish.store.reading.follow")
    finding = Later("headish.store.reading.search")
    imports = Later("headish.store.writing.imports")
    overlaying = Later("headish.store.writing.overlays")
    read = Later("headish.store.reading.read")
    replies = Later("headish.store.asking.reply")
    reports = Later("headish.store.reading.reports")
    requests = Later("headish.store.asking.request")
    titles = Later("headish.store.asking.title")
    write = Later("headish.store.writing.add")
    counting = Later("headish.store.reading.tokens")
    resolving = Later("headish.store.reading.resolve")

T = TypeVar("T")


class Store(Space):
    """One space of one database. Safe to share between threads; a context manager.

    A *headish* names a turn: an id or its unique prefix, a bookmark, ``@`` for the newest turn, each with suffixes
    (``headish.values.grammar``). Every verb that takes one raises UnknownTurn, Ambiguous or InvalidHeadish; every verb
    raises DatabaseError if the database fails, and Closed once the store is closed.
    """

    _owns_database = False
    recovered: tuple[Turn, ...] = ()
    """The turns that ``Store.open`` made of answers which dead processes had left behind."""

    # Write
    add_turn = write.add_turn
    add_document = write.add_document
    add_turns = write.add_turns
    record = write.record
    import_file = imports.import_file
    import_changed = imports.import_changed

    # Read
    get = read.get
    find = read.find
    payload = read.payload
    blocks = read.blocks
    text = read.text
    abbreviate = read.abbreviate
    children = read.children
    heads = read.heads
    log = read.log
    messages = read.messages
    turns = read.turns
    thread = read.thread
    tree = read.tree
    resolve = resolving.resolve
    options = resolving.options
    render = exports.render
    export = exports.export
    export_each = exporting.export_each
    export_folder = exporting.export_folder

    # Find
    search = finding.search
    reindex = finding.reindex

    # Ask
    request = requests.request
    lint = requests.lint
    reply = replies.reply
    capture = replies.capture
    ask = asking.ask
    say = asking.say
    open_answer = asking.open_answer
    retry = asking.retry
    ask_title = titles.ask_title
    open_retry = asking.open_retry
    open_calls = calls.open_calls
    run_tools = calls.run_tools

    # Follow
    follow = feeding.follow
    position = feeding.position
    at_least = feeding.at_least
    audit = auditing.audit

    # Change
    edit = changing.edit

    # Compare
    siblings = comparing.siblings
    versions = comparing.versions
    diff = comparing.diff

    # See otherwise
    summarize = overlaying.summarize
    hide = overlaying.hide
    replace = overlaying.replace
    keep = overlaying.keep
    unhide = overlaying.unhide
    original = overlaying.original
    compact = overlaying.compact
    tokens = counting.tokens

    # Copy
    copy_to = copying.copy_to

    # Erase
    erase = erasing.erase

    # Report
    usage = reports.usage
    cost = reports.cost
    stats = reports.stats
    verify = reports.verify

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

        ``create`` makes the space, too. Answers that a dead process left behind are recovered, unless the database is
        open read-only, and the log (``headish``) says so. ``close`` closes the database.
        Raises: as ``Database.open`` and ``Database.store``.
        """
        connections = Connections.open(
            target,
            durability=durability,
            create=create,
            read_only=read_only,
            prepared=prepared,
            payload_limit_bytes=payload_limit_bytes,
            isolation=isolation,
        )
        try:
            store = cls._enter(connections, space, create=create, author=author)
        except BaseException:
            connections.close()
            raise
        store._owns_database = True
        return store._begin()

    @classmethod
    def _enter(cls, connections: Connections, space: str, *, create: bool, author: str | None) -> Store:
        """What ``Database.store`` gives."""
        if author is not None:
            from headish.content.facts import read_short  # late: few programs name an author

            author = read_short("author", author)
        return cls(connections, space, connections.enter(space, create=create), author)

    def _begin(self) -> Self:
        """What opening a store does once: look after what others left undone."""
        if not self.read_only and self._has_open_streams():
            self.recovered = self.streams.recover_quietly()
        if not self.read_only:
            self._warn_unscrubbed()
        return self

    def _has_open_streams(self) -> bool:
        """Whether any answer has not ended; also if that cannot be told, so that a recovery says why."""
        try:
            return self._read(lambda connection: has_open_streams(connection, self._number))
        except HeadishError:
            return True

    def _warn_unscrubbed(self) -> None:
        """Say in the log that what was erased may be on the disk still; a space of which nothing was erased waits for
        nothing."""
        try:
            is_asked = self._backend.scrubs_itself and self._read(
                lambda connection: has_erasures(connection, self._number)
            )
        except HeadishError:
            return  # whoever reads it is told
        if is_asked:
            from headish.store.keeping.erase import warn_unscrubbed

            warn_unscrubbed(self)

    @door(dest=PATH)
    def backup(
        self, dest: str | os.PathLike[str], *, verify: Literal["full", "quick"] = "full", progress: Any = None
    ) -> Backup:
        """Back up this space alone, into a file of frames: as ``Database.backup`` does it for all spaces.

        Raises: as ``Database.backup``.
        """
        from headish.store.keeping.backup import back_up

        self._open_backend()
        return back_up(self._database, os.fspath(dest), [self.space.encode()], verify, progress)

    @door()
    def read(self, work: Callable[[ReadTransaction], T]) -> T:
        """What a function returns that reads one moment of the space, however many reads it has.

        The database may ask for it again (a lost connection, a lock), so the function must have no other effect, and
        must not wait for anything else: it holds a transaction open. What it raises comes out as it is.
        """
        from headish.store.transactions.running import run_read

        return run_read(self, work)

    @door()
    def write(self, work: Callable[[WriteTransaction], T]) -> T:
        """What a function returns once everything that it wrote is stored, in one transaction that has the space to
        itself: turns, names, objects and erasures together, or nothing.

        As for ``read``: it may be run again, and stores nothing twice. What it raises comes out as it is, and nothing
        is stored.
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
        """What people call a conversation, and what they say of it."""
        from headish.store.keeping.conversations import Conversations

        return Conversations(self)

    @property
    def objects(self) -> Objects:
        """What a program keeps beside its turns."""
        from headish.store.keeping.objects import Objects

        return Objects(self)

    @property
    def remotes(self) -> Remotes:
        """Other places that hold the same space."""
        from headish.store.keeping.remotes import Remotes

        return Remotes(self)

    @property
    def batches(self) -> Batches:
        """Many heads that a provider is asked about at once, later and for less."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self._backend.target} space={self.space!r}>"
