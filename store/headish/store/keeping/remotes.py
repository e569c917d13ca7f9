"""``store.remotes``: other places that have the same space; send changes there, and take changes from there."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection

from headish.rows.elsewhere.remotes import list_remote_bookmarks
from headish.store.keeping.erase import scrub_arrived
from headish.store.keeping.schedules import find_run
from headish.store.keeping.sharing.exchanges import exchange_with, find_remote, pull_from, push_to
from headish.store.keeping.sharing.live import answer_caller, target_of
from headish.store.keeping.sharing.places import (
    Joining,
    add_place,
    change_place,
    clone_place,
    invite_to,
    remove_place,
    revoke_from,
)
from headish.store.space import SpacePart
from headish.syncing.erasures import apply_pending, dismiss_pending, ids_of_erasures, pending_notices
from headish.syncing.live.answering import Doorkeeper
from headish.syncing.live.moves import NameWishes
from headish.syncing.logs import machine_of
from headish.syncing.remotes import describe, read_remotes
from headish.syncing.standing import count_unsent, describe_device, find_diverged, find_elsewhere, tell_unreached
from headish.values.checks.doors import FLAG, door
from headish.values.names import check_name, stored_name
from headish.values.results.bookmarks import Bookmark
from headish.values.results.erasures import Receipt
from headish.values.results.sharing import (
    Cloned,
    NameElsewhere,
    Pulled,
    Pushed,
    RemoteDevice,
    RemotePlace,
    RemoteStatus,
    Synced,
)


class Remotes(SpacePart):
    """The remotes of a space: folders and buckets in which each store that syncs has a log of its own.

    Nothing leaves this machine before ``add`` names a place, and nobody can read a place without its key. No store
    overwrites files of another one, so any order of pushes and pulls loses nothing.
    """

    @door(plain=FLAG, passphrase=FLAG)
    def add(
        self, name: str, url: str, *, device: str | None = None, plain: bool = False, passphrase: bool = False,
        key: str | None = None, key_env: str | None = None,
    ) -> RemotePlace:  # fmt: skip
        """Name a place: a folder (``file:///…``), a bucket (``s3://``, ``gs://``, ``az://``), or a live remote: another
        database (its path, or ``postgresql://…`` without a password), a store that a command reaches
        (``ssh://HOST/PATH``, ``cmd:COMMAND``), or a server of headish (``https://HOST``).

        ``device`` is this store's name there, by default the machine's. headish encrypts what it puts there, unless
        ``plain`` says otherwise. The first store that adds a place makes its key; a later one must be invited, or knows
        the ``passphrase``, which ``HEADISH_PASSPHRASE`` or the file ``HEADISH_PASSPHRASE_FILE`` gives. Compare the
        fingerprint with that on the other machine, or give it as ``key``: the key there could be another one. Keys of a
        bucket come from the environment or the provider's files; the key of the remote is in a file beside the
        configuration. ``key_env`` names the environment variable, or the keyring's entry as ``keyring:NAME``, that
        holds the token of a server, with the right ``sync`` there.
        Raises: RemoteTaken, InvalidName, InvalidArgument, RemoteUnavailable; NotADevice for another passphrase, another
        key, or one that opens none of the logs there.
        """
        return add_place(self._space, name, url, Joining(device, plain, passphrase, key, key_env))

    @door(plain=FLAG, passphrase=FLAG)
    def clone(
        self, name: str, url: str, *, device: str | None = None, plain: bool = False, passphrase: bool = False,
        key: str | None = None, key_env: str | None = None,
    ) -> Cloned:  # fmt: skip
        """Take the history at a place into this empty store: ``add``, then ``pull``. The last turn that came is ``@``.

        Raises: as both; InvalidArgument if this store has a history; RemoteUnavailable if the place has none.
        """
        return clone_place(self._space, name, url, Joining(device, plain, passphrase, key, key_env))

    @door()
    def list(self) -> builtins.list[RemotePlace]:
        """The remotes, by name."""
        return [describe(each) for each in self._space._read_by(read_remotes)]

    @door()
    def remove(self, name: str) -> None:
        """Forget a remote, with its keys on this machine. Turns that came from there stay, and so do the files there.

        Raises: UnknownRemote.
        """
        remove_place(self._space, name)

    @door()
    def set(
        self, name: str, *, key: str | None = None, names: str | None = None, erasures: str | None = None,
        trust: bool | None = None, sign: bool | None = None, require_signed: bool | None = None,
        key_env: str | None = None,
    ) -> RemotePlace:  # fmt: skip
        """Change the settings of a remote.

        ``key`` confirms the fingerprint of the remote's key, which ``invite`` or ``revoke`` on another machine
        returned: only that key is accepted. ``names`` is the pattern of bookmarks that a pull may make here.
        ``erasures`` says what an erasure on another device does here: ``apply``, ``ask`` or ``ignore``. ``trust``: the
        options of turns from a remote without encryption take effect here; whoever can write to the place then chooses
        servers and tools. ``sign``: from now on, sign what this store puts there with the key that
        ``HEADISH_SIGNING_KEY`` names; pulls report the signer. The next push writes anew what is there.
        ``require_signed``: pulls take only bundles by somebody in the list of signers. ``key_env``: where to find the
        token of a server from now on, as in ``add``.
        Raises: UnknownRemote, InvalidArgument.
        """
        changes = {"key": key, "names": names, "erasures": erasures, "trust": trust, "sign": sign,
                   "require_signed": require_signed}  # fmt: skip
        return change_place(self._space, name, changes, key_env)

    @door()
    def invite(self, name: str, recipient: str) -> str:
        """Give another machine the key of a remote; ``recipient`` is what ``add`` gave there. Returns the fingerprint
        of the key, which the other one confirms by ``set(name, key=…)``.

        Send the fingerprint by another way: whoever can write to the place could put another key there.
        Raises: UnknownRemote, NoRemoteKey, InvalidArgument, RemoteUnavailable.
        """
        return invite_to(self._space, name, recipient)

    @door()
    def revoke(
        self, name: str, device: str, *, allow_secrets: bool = False, tell: Callable[[str], None] | None = None
    ) -> str:
        """Remove a device: make a new key for all others, write this store's log anew, and remove the log of the device
        once its turns are here. Returns the fingerprint that each of the others confirms.

        What cannot be read or stored of the device's log is lost with it. Before that, ``tell`` is called with it, and
        with what the logs of others wait for.

        Only machines that this one has invited and that have a log get the new key. Invite the others again: whoever
        has the key could have written a log in their name. The device keeps what it has read; remove its access to the
        place, too. The passphrase opens nothing any more.
        Raises: UnknownRemote, InvalidArgument, NoRemoteKey, RemoteUnavailable, and as ``pull``; SecretsFound before
        anything is changed, unless ``allow_secrets``.
        """
        return revoke_from(self._space, name, device, allow_secrets=allow_secrets, tell=tell)

    @door()
    def devices(self, name: str) -> builtins.list[RemoteDevice]:
        """The stores that sync with a remote, this one first, as they were when they were last read. A live remote has
        only the store at its other end.

        Raises: UnknownRemote.
        """
        remote, space = find_remote(self._space, name), self._space
        erasures = set(space._read_by(ids_of_erasures))
        invited = set(map(machine_of, remote.state.invited))
        return [
            describe_device(device, each, erasures, own=index == 0 and not remote.is_live, invited=device in invited)
            for index, (device, each) in enumerate(remote.logs)
        ]

    @door()
    def status(self, name: str) -> RemoteStatus:
        """The state of a remote, without asking it, and of the syncs that a server of this machine runs with it.

        Cost: reads the arrivals since the last push, and each bookmark of its devices.
        Raises: UnknownRemote.
        """
        remote, space = find_remote(self._space, name), self._space
        unsent = space._read_by(count_unsent, remote)
        diverged = space._read_by(find_diverged, remote.name)
        run = find_run(space._database.target, space.space, name)
        return RemoteStatus(describe(remote), unsent, tuple(self.devices(name)), diverged, run)

    @door(accept_rollback=FLAG, delete=FLAG, create=FLAG)
    def push(
        self, name: str, *, allow_secrets: bool = False, accept_rollback: bool = False, delete: bool = False,
        force_with_lease: str | None = None, create: bool = False,
    ) -> Pushed:  # fmt: skip
        """Append what is new here to this store's log there; to a live remote, send it and publish names.

        At a live remote a name moves forward, or anywhere if only this side has moved it since it was last seen there.
        If both sides have moved it, it stays and is reported, unless ``force_with_lease`` is a headish of the turn that
        it points to there: if it still does, it moves to its turn here. ``delete`` removes names there that were
        removed here and have not moved there. ``create`` makes the database of a live remote, or the space in it, if it
        is missing.
        Cost: if nothing is new, one request or round trip; else two, and one for each 16 MiB.
        Raises: UnknownRemote, NoRemoteKey, SecretsFound, RemoteUnavailable, RemoteRolledBack; for a live remote also
        RemoteRefused; InvalidArgument for options about names if the remote is not live.
        """
        space = self._space
        leases = () if force_with_lease is None else (space._read_at(force_with_lease, lambda _, turn: turn.id),)
        wishes = NameWishes(delete, frozenset(leases))
        return push_to(space, name, wishes, allow_secrets=allow_secrets, accept_rollback=accept_rollback, create=create)

    @door(prune=FLAG, accept_rollback=FLAG)
    def pull(self, name: str, *, prune: bool = False, accept_rollback: bool = False) -> Pulled:
        """Read the logs of all other devices there, as far as they go, and store what is new.

        A bookmark moves forward, or anywhere if only the other device moved it; if both did, it stays and is reported.
        Titles and tags are merged field by field. ``prune`` removes bookmarks that a device removed and that have not
        moved here. ``@`` stays where it is, unless nothing was said here yet.
        Cost: if nothing is new, one request, and one for each device.
        Raises: UnknownRemote, NoRemoteKey, RemoteUnavailable; after all other logs were read: RemoteRolledBack for logs
        that are shorter than they were, unless ``accept_rollback``, NotADevice for logs that no device wrote, and
        QuotaExceeded, TooLarge or ForeignConflict for logs with something that cannot be stored here.
        """
        return pull_from(self._space, name, prune=prune, accept_rollback=accept_rollback)

    @door(prune=FLAG, accept_rollback=FLAG, create=FLAG)
    def exchange(
        self, name: str, *, prune: bool = False, allow_secrets: bool = False, accept_rollback: bool = False,
        create: bool = False,
    ) -> Synced:  # fmt: skip
        """Pull, then push. It pushes even if the pull raises because something cannot be stored here: to a folder or
        bucket for any such reason, to a live remote if the space has no room for it. A live remote that is read-only is
        only pulled. ``create`` is that of ``push``.

        Raises: as both.
        """
        return exchange_with(
            self._space, name, prune=prune, allow_secrets=allow_secrets, accept_rollback=accept_rollback, create=create
        )

    @door()
    def answer(
        self, reads: int, writes: int, *, names: str = "*", trust: bool = False, erases: bool | None = None,
        caller: str | None = None, questions: int | None = None,
    ) -> int:  # fmt: skip
        """Answer another store that has this one as a live remote, over two file descriptors, until it says goodbye;
        return how many turns came.

        ``names`` is the pattern of the bookmarks that it may move. ``trust``: it is a device of this store's owner, so
        the options of its turns take effect here. ``erases``: its erasures erase here; by default, those of a trusted
        caller do. ``caller`` is the name that is stored with its turns; without it, the name it gives itself.
        ``questions`` limits how many are answered. A store that was opened read-only takes nothing.
        Raises: RemoteUnavailable if the caller falls silent or breaks off; the error with which it was refused.
        """
        space, may_erase = self._space, trust if erases is None else erases
        read_only = space._open_backend().read_only
        return answer_caller(
            space, reads, writes, Doorkeeper(space.space, read_only, names, trust, may_erase, caller, questions)
        )

    @door()
    def bookmarks(self) -> builtins.list[Bookmark]:
        """The bookmarks of the devices of all remotes as they were when last read, named ``DEVICE/NAME``. Such a name
        is a headish, too, unless a bookmark here has it. Cost: one statement for each thousand."""
        listed = self._space._read_by(list_remote_bookmarks)
        return [
            Bookmark(f"{stored_name(each.device)}/{stored_name(each.name)}", each.turn) for each in listed if each.turn
        ]

    @door()
    def elsewhere(self, name: str) -> builtins.list[NameElsewhere]:
        """Compare a bookmark with the one of that name on each device that has it, by device, as of the last pull.
        Empty if there is no such bookmark here.

        Cost: one statement, and up to six for each device.
        Raises: InvalidName.
        """
        return self._space._read_by(find_elsewhere, check_name(name))

    @door()
    def not_reached(self) -> dict[str, tuple[str, ...]]:
        """The erasures that have not reached every device yet: by the id of the receipt, ``2 of 3 devices on NAME`` for
        each remote.

        A device is reached once its log says so: then none of its files there has the bytes.
        """
        space = self._space
        remotes = space._read_by(read_remotes)
        unreached: dict[str, tuple[str, ...]] = {}
        for receipt in space._read_by(ids_of_erasures):
            lines = tuple(line for each in remotes if (line := tell_unreached(each, receipt)))
            if lines:
                unreached[receipt] = lines
        return unreached

    @door()
    def pending_erasures(self) -> builtins.list[Receipt]:
        """The erasures of other stores that nobody has confirmed here: those from remotes whose ``erasures`` is ask."""
        return [receipt for _, receipt in self._space._read_by(pending_notices)]

    @door()
    def erase_pending(self, ids: Collection[str] | None = None) -> int:
        """Carry out the pending erasures here, or those with these ids; return how many turns were erased.

        Raises: UnknownErasure for an id that is not pending; CorruptTurn.
        """
        erased = apply_pending(target_of(self._space), ids)
        scrub_arrived(self._space, erased)
        return erased

    @door()
    def dismiss_pending(self, ids: Collection[str] | None = None) -> int:
        """Dismiss the pending erasures, or those with these ids, and keep their turns here; return how many were
        dismissed.

        They are not asked about again. The machine that erased still sees that they have not reached this one.
        Raises: UnknownErasure for an id that is not pending.
        """
        return dismiss_pending(target_of(self._space), ids)
