"""A live remote of a store: the command that reaches it runs while both talk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from headish.errors import InvalidArgument, RemoteUnavailable
from headish.remotes.commands import Command, Pipes, check_command, command_of, is_http
from headish.remotes.keys import allow_command, key_env_of
from headish.store.keeping.erase import scrub_now
from headish.store.space import Space
from headish.syncing.bundling import SyncTarget
from headish.syncing.live.answering import Answering, Doorkeeper
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.wire import Wire
from headish.syncing.remotes import OpenRemote, RemoteSettings, describe

CALLER = "the store that calls"
"""What the other side is called in the errors of the one that answers."""


def settings_of_live(url: str, label: str, key_env: str | None, *, has_options: bool) -> RemoteSettings:
    """What is kept of a new live remote; its command is one that this machine runs from now on, its server one that
    gets the token at ``key_env``.

    Raises: InvalidArgument, InvalidAddress.
    """
    if has_options:
        raise InvalidArgument("ssh keeps what it carries secret: plain, passphrase and key are for folders and buckets")
    if is_http(url):
        from headish.calls.posting import check_server  # late: it takes long, and most remotes are no servers

        check_server(url, key_env)
    else:
        refuse_key_env(key_env)
        check_command(url)
    settings = RemoteSettings(os.urandom(8).hex(), os.urandom(8).hex(), label, encrypted=False, erasures="ask")
    allow_command(settings.id, url, key_env)
    return settings


def refuse_key_env(key_env: str | None) -> None:
    """Refuse the place of a token for what is no server. Raises: InvalidArgument."""
    if key_env is not None:
        raise InvalidArgument("only a server (https://…) is asked with a token: leave out key_env")


@contextmanager
def talking(space: Space, target: SyncTarget, remote: OpenRemote, *, writes: bool) -> Iterator[LiveSync]:
    """A conversation with a live remote; ``writes``: something is to change there.

    Raises: RemoteUnavailable, RemoteRefused, InvalidBundle.
    """
    waits = describe(remote).waits
    if waits:
        raise RemoteUnavailable(remote.url, waits)
    if is_http(remote.url):
        from headish.calls.posting import SyncServer
        from headish.syncing.live.posts import PostTalk

        with SyncServer(remote.url, key_env_of(remote.settings.id) or "") as server:
            yield LiveSync(target, PostTalk(server), remote, space.space)
        return
    arguments = command_of(remote.url, space.space, trust=remote.settings.trust, writes=writes)
    with Command(remote.url, arguments) as command:
        try:
            with Wire(command.pipes, remote.url) as wire:
                yield LiveSync(target, wire, remote, space.space)
                wire.bye()
        except RemoteUnavailable as error:
            if not command.pipes.ended and not command.has_ended:
                raise
            raise RemoteUnavailable(remote.url, command.why(error.reason)) from None


def answer(space: Space, target: SyncTarget, pipes: Pipes, door: Doorkeeper) -> int:
    """Answer a store that calls, until it says goodbye; how many turns came."""
    with Wire(pipes, CALLER) as wire:
        answering = Answering(target, wire, door)
        try:
            answering.run()
        finally:
            space._database.count_written(answering.stored)
            if answering.erased:
                scrub_now(space._database)
    return answering.stored
