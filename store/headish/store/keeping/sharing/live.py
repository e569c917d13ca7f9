"""A live remote of a store: the command that reaches it runs while both talk, or its database is opened here.

A database that is opened here is asked in the same way as a store on another machine: it answers in a thread of its
own. So there is only one protocol, with its checks, and a transaction here never waits for one there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from headish.bundles.live import Hello
from headish.database.backend import Backend
from headish.database.file.holding import identity
from headish.database.identity import identify
from headish.database.urls import SECRET, parse_strictly
from headish.errors import DatabaseUnavailable, InvalidArgument, RemoteUnavailable, UnknownDatabase
from headish.history.feeds.cursors import parse_cursor
from headish.remotes.commands import Command, Pipes, check_command, command_of
from headish.remotes.keys import allow_command, key_env_of
from headish.remotes.kinds import is_database, is_http, is_server
from headish.store.connections import Connections
from headish.store.keeping.erase import scrub_arrived
from headish.store.space import Space
from headish.syncing.bundling.arriving import SyncTarget
from headish.syncing.live.answering import Answering, Doorkeeper
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.wire import Talk, Wire
from headish.syncing.remotes import OpenRemote, RemoteSettings, RemoteState, refusal_of

CALLER = "the store that calls"
"""The name of the other side in the errors of the store that answers."""


def settings_of_live(url: str, label: str, key_env: str | None, *, has_options: bool) -> RemoteSettings:
    """Make the settings of a new live remote, and allow this machine to run its command, to open its database, or to
    send its server the token at ``key_env``.

    Raises: InvalidArgument, InvalidAddress.
    """
    if has_options:
        raise InvalidArgument("plain, passphrase and key are for folders and buckets: nothing lies at a live remote")
    if is_http(url):
        from headish.calls.posting import check_server  # late: the import takes long, and few remotes are servers

        check_server(url, key_env)
    else:
        refuse_key_env(key_env)
        if not is_database(url):
            check_command(url)
    settings = RemoteSettings(os.urandom(8).hex(), os.urandom(8).hex(), label, encrypted=False, erasures="ask")
    allow_command(settings.id, url, key_env)
    return settings


def name_token(remote: OpenRemote, key_env: str) -> None:
    """Have this machine take the token of a server from another place from now on.

    Raises: InvalidArgument if it is not a server, or if nobody has named it on this machine: its address may be a
    stranger's, who would get the token.
    """
    from headish.calls.posting import check_server

    if not is_http(remote.url):
        refuse_key_env(key_env)
    if refusal := refusal_of(remote):
        raise InvalidArgument(refusal)
    check_server(remote.url, key_env)
    allow_command(remote.settings.id, remote.url, key_env)


def refuse_key_env(key_env: str | None) -> None:
    """Refuse ``key_env`` for anything but a server. Raises: InvalidArgument."""
    if key_env is not None:
        raise InvalidArgument("only a server (https://…) is asked with a token: leave out key_env")


def database_at(url: str, own: Backend | str) -> str:
    """The name of a database that holds in every working folder: its whole path, or its URL. It must not be ``own``,
    a database, or the path or URL of one that is not there yet.

    Raises: InvalidArgument for a URL with a password, a database in memory, a folder, and ``own``.
    """
    if not url.isprintable() or url in ("", ":memory:"):
        raise InvalidArgument(f"a remote is a folder, a bucket, a machine or a database, not {url[:80]!r}")
    if is_server(url):
        checked = _check_server(url)
        if url == (own if isinstance(own, str) else own.target):
            raise _is_itself(url)
        return checked
    path = os.path.abspath(os.path.expanduser(url))
    if os.path.isdir(path):
        raise InvalidArgument(f"{path} is a folder: give the file of a database, or file:///… for a folder of bundles")
    if _is_own(path, own):
        raise _is_itself(path)
    return path


def _is_own(path: str, own: Backend | str) -> bool:
    if isinstance(own, str):
        found = identify(own)
        return found is not None and found.target == os.path.realpath(path)
    return os.path.exists(path) and own.which() == identity(path)


def _check_server(url: str) -> str:
    try:
        parsed = parse_strictly(url)
    except ValueError as error:
        raise InvalidArgument(f"the database URL of the remote cannot be read: {error}") from None
    if parsed.password or parsed.query.keys() & {*SECRET}:
        raise InvalidArgument(
            "a password stays out of a remote's URL: PostgreSQL's client takes it from PGPASSWORD or ~/.pgpass"
        )
    return url


def _is_itself(url: str) -> InvalidArgument:
    return InvalidArgument(f"{url} is this database itself: a remote is another one")


@contextmanager
def talking(space: Space, remote: OpenRemote, *, writes: bool, create: bool = False) -> Iterator[LiveSync]:
    """Open a conversation with a live remote. ``writes``: something will change there. ``create`` makes the database or
    the space if it is missing.

    Raises: RemoteUnavailable, RemoteRefused, InvalidBundle; as ``Database.open`` for a database that is opened here.
    """
    refusal = refusal_of(remote)
    if refusal:
        raise RemoteUnavailable(remote.url, refusal)
    with _calling(remote, space.space, space._database.backend, writes=writes, create=create) as talk:
        yield LiveSync(target_of(space), talk, remote, space.space)


def check_history(name: bytes, url: str, settings: RemoteSettings, space: str) -> None:
    """Check for a store that is not there yet that a live remote answers and has a history of the space. Raises: as
    ``talking``."""
    with _calling(OpenRemote(name, url, settings, RemoteState()), space, None, writes=False, create=False) as talk:
        if not parse_cursor(talk.greet(Hello(space, settings.label, None)).cursor).seq:
            raise no_history(url, space)


def no_history(url: str, space: str) -> RemoteUnavailable:
    """The error for a live remote without turns of the space."""
    return RemoteUnavailable(url, f"no history of the space {space!r} is there")


@contextmanager
def _calling(remote: OpenRemote, space: str, own: Backend | None, *, writes: bool, create: bool) -> Iterator[Talk]:
    """Reach a live remote. ``own`` is the database of this side, if it is there."""
    if is_http(remote.url):
        from headish.calls.posting import SyncServer
        from headish.syncing.live.posts import PostTalk

        if create:
            raise InvalidArgument("a server makes no space for a caller: its owner makes one there, with the token")
        with SyncServer(remote.url, key_env_of(remote.settings.id) or "") as server:
            yield PostTalk(server)
        return
    with _reach(remote, space, own, writes=writes, create=create) as peer:
        try:
            with Wire(peer.pipes, remote.url) as wire:
                yield wire
                wire.bye()
        except RemoteUnavailable as error:
            # If the other side ended, its own last words say more than the broken pipe.
            if not peer.pipes.ended and not peer.has_ended:
                raise
            raise RemoteUnavailable(remote.url, peer.why(error.reason)) from None


def _reach(
    remote: OpenRemote, space: str, own: Backend | None, *, writes: bool, create: bool
) -> Command | OpenedDatabase:
    trust = remote.settings.trust
    if not is_database(remote.url):
        arguments = command_of(remote.url, space, trust=trust, writes=writes, create=create)
        return Command(remote.url, arguments)
    try:
        return OpenedDatabase(_open(remote.url, space, own, writes=writes, create=create), trust)
    except DatabaseUnavailable as error:
        raise RemoteUnavailable(remote.url, error.reason) from None
    except UnknownDatabase as error:
        reason = f"{error.reason} (push or sync with --create, or create=True, makes it)"
        raise RemoteUnavailable(remote.url, reason) from None


def _open(url: str, space: str, own: Backend | None, *, writes: bool, create: bool) -> Space:
    """Open the space of this name in another database. Raises: as ``Database.open`` and ``Database.store``."""
    connections = Connections.open(url, create=create, read_only=not writes)
    try:
        # Checked again: only an open database says which one it is, and a path may lead elsewhere since it was added.
        if own is not None and connections.backend.which() == own.which():
            raise _is_itself(url)
        return Space(connections, space, connections.enter(space, create=create))
    except BaseException:
        connections.close()
        raise


def _pipe(undone: ExitStack) -> tuple[int, int]:
    """A pipe that is closed if what follows fails."""
    ends = os.pipe()
    for each in ends:
        undone.callback(os.close, each)
    return ends


class OpenedDatabase:
    """A store of a database that is opened in this process, while it answers. ``Command`` is the same for a store
    elsewhere."""

    def __init__(self, there: Space, trust: bool) -> None:
        self._there = there
        self._error: BaseException | None = None
        with ExitStack() as undone:
            undone.callback(there._database.close)
            request_pipe = _pipe(undone)
            answer_pipe = _pipe(undone)
            self._ends = request_pipe[1], answer_pipe[0]
            self.pipes = Pipes(there._database.backend.target, answer_pipe[0], request_pipe[1])
            self._thread = threading.Thread(target=self._answer, args=(request_pipe[0], answer_pipe[1], trust))
            self._thread.start()
            undone.pop_all()

    def _answer(self, reads: int, writes: int, trust: bool) -> None:
        space = self._there
        try:
            door = Doorkeeper(space.space, space._database.backend.read_only, trusts=trust, erases=trust)
            answer_caller(space, reads, writes, door)
        except BaseException as error:  # for ``why``: over the pipes the asking side learns only what it may know
            self._error = error
        finally:
            os.close(reads)
            os.close(writes)

    def __enter__(self) -> OpenedDatabase:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close the pipes: then the thread ends by itself, after the statement that it is running."""
        for each in self._ends:
            os.close(each)
        self._thread.join()
        self._there._database.close()
        if error is not None and self._error is not None:
            error.__cause__ = self._error  # so that the traceback of a bug there is shown

    @property
    def has_ended(self) -> bool:
        """Whether nobody answers any more."""
        return not self._thread.is_alive()

    def why(self, reason: str) -> str:
        """Why it ended."""
        return reason if self._error is None else f"{reason} ({self._error})"


def target_of(space: Space) -> SyncTarget:
    """The part of a space that a sync reads and changes."""
    return SyncTarget(space._open_backend(), space._number, space._database.mint, space._payload_limit_bytes)


def answer_caller(space: Space, reads: int, writes: int, door: Doorkeeper) -> int:
    """Answer a store that calls over two file descriptors, until it says goodbye; return how many turns came. ``door``:
    what it may do."""
    with Wire(Pipes(CALLER, reads, writes), CALLER) as wire:
        answering = Answering(target_of(space), wire, door)
        try:
            answering.run()
        finally:
            space._database.count_written(answering.stored)
            if answering.erased is not None:  # a caller that only reads must not make SQLite rewrite the file
                scrub_arrived(space, answering.erased)
    return answering.stored
