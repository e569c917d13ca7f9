"""Push, pull, exchange and answer: send changes to a remote, and take changes from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headish.errors import HeadishError, InvalidArgument, NotADevice, RemoteRolledBack
from headish.store.keeping.erase import scrub_arrived
from headish.store.keeping.sharing.live import talking, target_of
from headish.store.space import Space
from headish.syncing.heads import Pull
from headish.syncing.joining import check_key, renew_key
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.moves import NameWishes
from headish.syncing.live.sending import LivePush, send_all
from headish.syncing.live.taking import take_all
from headish.syncing.logs import logs_of
from headish.syncing.own_log import Push
from headish.syncing.pulling import NO_ROOM, NOT_STORED, pull
from headish.syncing.pushing import push
from headish.syncing.remotes import OpenRemote, read_remote
from headish.values.results.sharing import Pulled, Pushed, Synced


def find_remote(space: Space, name: str) -> OpenRemote:
    """Find a remote, with its present state. Raises: UnknownRemote."""
    return space._read_by(read_remote, name)


def push_to(
    space: Space, name: str, wishes: NameWishes, *, allow_secrets: bool, accept_rollback: bool, create: bool = False
) -> Pushed:
    """``Remotes.push``."""
    remote = find_remote(space, name)
    if remote.is_live:
        with talking(space, remote, writes=True, create=create) as live:
            return send_all(LivePush(live, wishes, allow_secrets))
    if wishes or create:
        raise InvalidArgument(f"remote {name!r} is not a store: each device has names of its own there")
    remote = renew_key(remote, space.space)
    check_key(remote, space.space)  # with an old key, a device that was removed could read what is pushed
    logs = logs_of(remote, space.space)
    pushed, _ = push(Push(target_of(space), logs, remote, allow_secrets), accept_rollback=accept_rollback)
    return pushed


def pull_from(
    space: Space, name: str, *, prune: bool = False, accept_rollback: bool = False, gone: str | None = None
) -> Pulled:
    """``Remotes.pull``, with ``gone`` before that device is taken out."""
    remote = find_remote(space, name)
    if remote.is_live:
        with talking(space, remote, writes=False) as live:
            return _pull_live(space, live, prune=prune)
    remote = renew_key(remote, space.space)
    logs = logs_of(remote, space.space)
    pulled, problem = pull(Pull(target_of(space), logs, remote, accept_rollback, prune, gone))
    _note_arrived(space, pulled)
    if pulled.waiting or isinstance(problem, NotADevice | RemoteRolledBack):
        check_key(remote, space.space)  # raises if the key was changed, which explains all of these
    if problem is not None:
        raise problem
    return pulled


def exchange_with(
    space: Space, name: str, *, prune: bool, allow_secrets: bool, accept_rollback: bool, create: bool
) -> Synced:
    """``Remotes.exchange``."""
    remote, wishes = find_remote(space, name), NameWishes()
    if create and not remote.is_live:
        raise InvalidArgument(f"remote {name!r} is not a store: the first push makes it")
    if remote.is_live:
        pulled = None
        try:
            with talking(space, remote, writes=True, create=create) as live:
                pulled = _pull_live(space, live, prune=prune)
                return Synced(pulled, _push_live(live, allow_secrets))
        except NO_ROOM as error:
            if pulled is None:
                # In a conversation of its own: pages that nobody reads any more are on their way in the first.
                with _told_beside(error), talking(space, find_remote(space, name), writes=True) as live:
                    _push_live(live, allow_secrets)
            raise
    try:
        pulled = pull_from(space, name, prune=prune, accept_rollback=accept_rollback)
    # What cannot be stored here must not keep the turns of this store from getting there.
    except NOT_STORED as error:
        with _told_beside(error):
            push_to(space, name, wishes, allow_secrets=allow_secrets, accept_rollback=accept_rollback)
        raise
    pushed = push_to(space, name, wishes, allow_secrets=allow_secrets, accept_rollback=accept_rollback)
    return Synced(pulled, pushed)


@contextmanager
def _told_beside(before: HeadishError) -> Iterator[None]:
    """If the push in this block fails, too, its error has a note of why the pull failed ``before``."""
    try:
        yield
    except HeadishError as error:
        error.add_note(f"the pull before it failed: {before}")
        raise


def _pull_live(space: Space, live: LiveSync, *, prune: bool) -> Pulled:
    pulled = take_all(live, prune=prune)
    _note_arrived(space, pulled)
    return pulled


def _push_live(live: LiveSync, allow_secrets: bool) -> Pushed:
    """Send what is new here; nothing to a store that is open to readers alone."""
    if live.welcome.read_only:
        return Pushed(live.label)
    return send_all(LivePush(live, NameWishes(), allow_secrets))


def _note_arrived(space: Space, done: Pulled) -> None:
    space._database.count_written(done.stored)
    scrub_arrived(space, done.erased)
