"""``store.remotes``: other places that hold the same space, and what goes there and comes from there."""

from __future__ import annotations

import builtins
from collections.abc import Collection

from msgspec.structs import replace

from headish.errors import (
    HeadishError,
    InvalidArgument,
    NotADevice,
    RemoteRolledBack,
    RemoteTaken,
    RemoteUnavailable,
    shown,
)
from headish.remotes.commands import Pipes
from headish.remotes.keys import forget_keys
from headish.remotes.kinds import check_url, is_database, is_live
from headish.remotes.objects import ObjectPlace
from headish.rows.counters import read_counter
from headish.rows.elsewhere.remotes import list_remote_bookmarks, remove_remote
from headish.store.keeping.erase import scrub_now
from headish.store.keeping.live import (
    CALLER,
    answer,
    database_at,
    name_token,
    refuse_key_env,
    settings_of_live,
    talking,
    target_of,
)
from headish.store.keeping.schedules import find_run
from headish.store.space import Space
from headish.syncing.bundling import SyncTarget, write_locked
from headish.syncing.erasures import apply_pending, dismiss_pending, ids_of_erasures, pending_notices
from headish.syncing.joining import check_key, give_key, renew_key
from headish.syncing.live.answering import Doorkeeper
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.moves import NameWishes
from headish.syncing.live.sending import LivePush, send_all
from headish.syncing.live.taking import take_all
from headish.syncing.logs import folder_of, logs_of, machine_of
from headish.syncing.membership import check_fingerprint, check_labels, join, take_out
from headish.syncing.own_log import Push
from headish.syncing.pulling import NOT_STORED, Pull, pull
from headish.syncing.pushing import push
from headish.syncing.remotes import (
    OpenRemote,
    RemoteState,
    describe,
    key_of,
    read_remote,
    read_remotes,
    save_remote,
    store_remote,
)
from headish.syncing.standing import count_unsent, describe_device, find_diverged, find_elsewhere, tell_unreached
from headish.values.checks.doors import FLAG, door
from headish.values.names import check_name, stored_name
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
from headish.values.turns import Bookmark

ERASURES = ("apply", "ask", "ignore")


class Remotes:
    """The remotes of a space: folders and buckets in which each store that syncs has a log of its own.

    Nothing leaves this machine before ``add`` names a place, and nothing is read there by anybody without its key. No
    store overwrites what another one has put there, so any order of pushes and pulls loses nothing.
    """

    def __init__(self, space: Space) -> None:
        self._space = space

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
        fingerprint with that on the other machine, or give it as ``key``: who knew the passphrase once, or keeps an old
        state of the place, could have put another key there. Keys of a bucket come from the environment or the
        provider's files; the key of the remote lies in a file beside the configuration, never in the database.
        ``key_env`` names the environment variable, or the keyring's entry as ``keyring:NAME``, that holds the token of
        a server, with the right ``sync`` there.
        Raises: RemoteTaken, InvalidName, InvalidArgument, RemoteUnavailable; NotADevice for another passphrase, another
        key, or one that opens none of the logs that lie there.
        """
        encoded, label = check_labels(name, device)
        check_fingerprint(key)
        if plain and (key is not None or passphrase):
            raise InvalidArgument("a plain remote has no key: leave out key and passphrase, or plain")
        space = self._space
        known = space._read(lambda connection: read_remotes(connection, space._number))
        if any(each.name == encoded for each in known):
            raise RemoteTaken(name, "there is one of this name: 'headish remote remove' it first")
        if is_database(url):
            url = database_at(url, space._database.backend)
        if is_live(url):
            settings = settings_of_live(url, label, key_env, has_options=plain or passphrase or key is not None)
        else:
            refuse_key_env(key_env)
            settings = join(name, url, space.space, label, plain=plain, passphrase=passphrase, key=key)
        added, number = OpenRemote(encoded, url, settings, RemoteState()), space._number
        try:
            space._write(lambda connection: store_remote(connection, number, added))
        except BaseException:
            forget_keys(settings.id)  # nothing would name its files any more
            raise
        return describe(added)

    @door(plain=FLAG, passphrase=FLAG)
    def clone(
        self, name: str, url: str, *, device: str | None = None, plain: bool = False, passphrase: bool = False,
        key: str | None = None, key_env: str | None = None,
    ) -> Cloned:  # fmt: skip
        """Take the history at a place into this empty store: ``add``, then ``pull``. The last turn that came is ``@``.

        Raises: as both; InvalidArgument where there is a history; RemoteUnavailable where none lies there.
        """
        space = self._space
        if space._read(lambda connection: read_counter(connection, space._number)).seq:
            raise InvalidArgument(
                "there is a history here already: 'headish remote add', then 'headish sync' joins both"
            )
        if not is_live(url) and not ObjectPlace(check_url(url)).list(folder_of(space.space)):
            raise RemoteUnavailable(url, f"no history of the space {space.space!r} lies there")
        added = self.add(name, url, device=device, plain=plain, passphrase=passphrase, key=key, key_env=key_env)
        try:
            waits = added.waits and not is_live(added.url)
            cloned = Cloned(added, None if waits else self.pull(name))
            if is_live(url) and not (cloned.pulled and cloned.pulled.stored):
                raise RemoteUnavailable(url, f"no history of the space {space.space!r} is there")
            return cloned
        except HeadishError:
            if not space._read(lambda connection: read_counter(connection, space._number)).seq:
                self.remove(name)  # so that it can be cloned again
            raise

    @door()
    def list(self) -> builtins.list[RemotePlace]:
        """The remotes, by name."""
        space = self._space
        return [describe(each) for each in space._read(lambda connection: read_remotes(connection, space._number))]

    @door()
    def remove(self, name: str) -> None:
        """Forget a remote, with its keys on this machine. What came from there stays, and so do the files there.

        Raises: UnknownRemote.
        """
        remote, number = self._find(name), self._space._number
        self._space._write(lambda connection: remove_remote(connection, number, remote.name))
        forget_keys(remote.settings.id)

    @door()
    def set(
        self, name: str, *, key: str | None = None, names: str | None = None, erasures: str | None = None,
        trust: bool | None = None, sign: bool | None = None, require_signed: bool | None = None,
        key_env: str | None = None,
    ) -> RemotePlace:  # fmt: skip
        """Change what is chosen of a remote.

        ``key`` confirms the fingerprint of the remote's key, as ``invite`` or ``revoke`` on another machine gave it:
        only that key is taken. ``names`` is the pattern of bookmarks that a pull may make here. ``erasures`` says what
        an erasure on another device does here: ``apply``, ``ask`` or ``ignore``. ``trust``: the options of turns that
        come from a remote without encryption act in requests here, as one's own do: whoever can write to the place
        chooses servers and tools then. ``sign``: what this store puts there from now on is signed with the key that
        ``HEADISH_SIGNING_KEY`` names, and whoever pulls hears by whom; the next push writes anew what is there.
        ``require_signed``: a pull takes a bundle only from somebody whom the list of signers names. ``key_env``: where
        the token of a server lies from now on, as in ``add``.
        Raises: UnknownRemote, InvalidArgument.
        """
        remote = self._find(name)
        check_fingerprint(key)
        if key is not None and remote.is_live:
            raise InvalidArgument(f"remote {name!r} is live and has no key to confirm")
        if erasures is not None and erasures not in ERASURES:
            raise InvalidArgument(f"erasures is apply, ask or ignore, not {shown(erasures)}")
        if trust and remote.settings.encrypted:
            raise InvalidArgument(f"remote {name!r} is encrypted: what your devices say there acts here as it is")
        if (sign or require_signed) and remote.is_live:
            raise InvalidArgument(f"remote {name!r} is live and keeps no bundles to sign: 'headish sign' signs turns")
        if key_env is not None:
            name_token(remote, key_env)
        changes = {"key": key, "names": names, "erasures": erasures, "trust": trust, "sign": sign,
                   "require_signed": require_signed}  # fmt: skip
        settings = replace(remote.settings, **{field: each for field, each in changes.items() if each is not None})
        if sign is not None or require_signed is not None:  # where two folders became one, one of their ids is left
            settings = replace(settings, place=None)
        state = remote.state
        if settings.sign and not remote.settings.sign and state.own.number:
            # Who requires signatures would wait for ever behind what was put there without.
            state = replace(state, anew=True)
        return describe(self._save(remote, remote._replace(settings=settings, state=state)))

    @door()
    def invite(self, name: str, recipient: str) -> str:
        """Give another machine the key of a remote; ``recipient`` is what ``add`` gave there. Returns the fingerprint
        of the key, which the other one confirms by ``set(name, key=…)``.

        Whoever can write to the place could put another key there, and read what that machine writes: so the
        fingerprint goes by another way.
        Raises: UnknownRemote, NoRemoteKey, InvalidArgument, RemoteUnavailable.
        """
        remote = self._find(name)
        if remote.is_live:
            raise InvalidArgument(
                f"remote {name!r} has no key to give: ssh, the command or a token says who may call there"
            )
        key = key_of(renew_key(remote, self._space.space))
        if key is None:
            raise InvalidArgument(f"remote {name!r} is not encrypted: whoever can read the place needs no invitation")
        give_key(ObjectPlace(remote.url), self._space.space, key, recipient)
        invited = tuple(sorted({*remote.state.invited, recipient}))
        self._save(remote, remote._replace(state=replace(remote.state, invited=invited)))
        return key.fingerprint

    @door()
    def revoke(self, name: str, device: str, *, allow_secrets: bool = False) -> str:
        """Take a device out: a new key for all others, this store's log written anew, and the log of the device
        removed, once what it said is here. Returns the fingerprint that each of the others confirms.

        Only machines that this one has invited and that have a log get the new key; another one, and one that has not
        pushed yet, is to be invited again, since whoever has the key could have written a log in its name. What the
        device has read it has. Take its access to the place away, too. The passphrase opens nothing any more.
        Raises: UnknownRemote, InvalidArgument, NoRemoteKey, RemoteUnavailable, and as ``pull``; SecretsFound before
        anything is changed, unless ``allow_secrets``.
        """
        remote = self._find(name)
        if remote.is_live:
            raise InvalidArgument(f"remote {name!r} has no devices to take out: a store answers there")
        self.pull(name)
        return take_out(self._target(), self._space.space, self._find(name), device, allow_secrets=allow_secrets)

    @door()
    def devices(self, name: str) -> builtins.list[RemoteDevice]:
        """The stores that sync with a remote, this one first, as they were when they were last read. At the end of a
        live remote there is one.

        Raises: UnknownRemote.
        """
        remote, space = self._find(name), self._space
        wanted = set(space._read(lambda connection: ids_of_erasures(connection, space._number)))
        invited = set(map(machine_of, remote.state.invited))
        return [
            describe_device(device, each, wanted, own=index == 0 and not remote.is_live, invited=device in invited)
            for index, (device, each) in enumerate(remote.logs)
        ]

    @door()
    def status(self, name: str) -> RemoteStatus:
        """The state of a remote, without asking it, and how a server of this machine syncs with it. Cost: reads the
        arrivals since the last push, and each bookmark of its devices.
        Raises: UnknownRemote.
        """
        remote, space = self._find(name), self._space
        unsent = space._read(lambda connection: count_unsent(connection, space._number, remote))
        diverged = space._read(lambda connection: find_diverged(connection, space._number, remote.name))
        run = find_run(space._database.target, space.space, name)
        return RemoteStatus(describe(remote), unsent, tuple(self.devices(name)), diverged, run)

    @door(accept_rollback=FLAG, delete=FLAG, create=FLAG)
    def push(
        self, name: str, *, allow_secrets: bool = False, accept_rollback: bool = False, delete: bool = False,
        force_with_lease: str | None = None, create: bool = False,
    ) -> Pushed:  # fmt: skip
        """Append what is new here to this store's log there; to a live remote, send it and publish names.

        At a live remote a name goes forward, and along where only this side has moved it since it was seen there.
        Where both have, it stays and is told, unless ``force_with_lease`` is the headish of the turn that it has there:
        if it still has it, it goes where it is here. ``delete`` removes names there that were removed here and have not
        moved there. ``create`` makes the database of a live remote, or the space in it, where it is not there; else a
        path with a slip in it is an error.
        Cost: where nothing is new, one request or round trip; else two, and one for each 16 MiB.
        Raises: UnknownRemote, NoRemoteKey, SecretsFound, RemoteUnavailable, RemoteRolledBack; of a live remote also
        RemoteRefused; InvalidArgument for names of a remote that is not live.
        """
        remote = self._find(name)
        wishes = self._wishes(delete, force_with_lease)
        if remote.is_live:
            with talking(self._space, self._target(), remote, writes=True, create=create) as live:
                return send_all(LivePush(live, wishes, allow_secrets))
        if wishes or create:
            raise InvalidArgument(f"remote {name!r} is no store: each device has names of its own there")
        remote = renew_key(remote, self._space.space)
        check_key(remote, self._space.space)  # what a device that was taken out could read stays here
        given = Push(self._target(), logs_of(remote, self._space.space), remote, allow_secrets)
        done, _ = push(given, accept_rollback=accept_rollback)
        return done

    @door(prune=FLAG, accept_rollback=FLAG)
    def pull(self, name: str, *, prune: bool = False, accept_rollback: bool = False) -> Pulled:
        """Read the logs of all other devices there, as far as they have come, and store what is new.

        A bookmark goes forward, or along where only the other device moved it; where both did, it stays and is told.
        Titles and tags are met field by field. ``prune`` removes bookmarks that a device removed and that have not
        moved here. ``@`` stays where it is, unless nothing was said here yet.
        Cost: where nothing is new, one request, and one for each device.
        Raises: UnknownRemote, NoRemoteKey, RemoteUnavailable; after all other logs were read: RemoteRolledBack for logs
        that are not as far as they were, unless ``accept_rollback``, NotADevice for those that no device wrote, and
        QuotaExceeded, TooLarge or ForeignConflict for those with something that is not stored here.
        """
        space = self._space
        remote = self._find(name)
        if remote.is_live:
            with talking(space, self._target(), remote, writes=False) as live:
                return self._pulled(live, prune=prune)
        remote = renew_key(remote, space.space)
        done, left = pull(Pull(self._target(), logs_of(remote, space.space), remote, accept_rollback, prune))
        self._note_arrived(done)
        if done.waiting or isinstance(left, NotADevice | RemoteRolledBack):
            check_key(remote, space.space)  # a key that was changed explains it
        if left is not None:
            raise left
        return done

    @door(prune=FLAG, accept_rollback=FLAG, create=FLAG)
    def exchange(
        self, name: str, *, prune: bool = False, allow_secrets: bool = False, accept_rollback: bool = False,
        create: bool = False,
    ) -> Synced:  # fmt: skip
        """Pull, then push; to a folder or bucket also where the pull raises that something of a device is not stored
        here. A live remote that takes nothing is only pulled. ``create`` as ``push``. Raises: as both.
        """
        remote = self._find(name)
        if create and not remote.is_live:
            raise InvalidArgument(f"remote {name!r} is no store: the first push makes it")
        if remote.is_live:
            with talking(self._space, self._target(), remote, writes=True, create=create) as live:
                pulled = self._pulled(live, prune=prune)
                if live.welcome.read_only:
                    return Synced(pulled, Pushed(name))
                return Synced(pulled, send_all(LivePush(live, NameWishes(), allow_secrets)))
        try:
            pulled = self.pull(name, prune=prune, accept_rollback=accept_rollback)
        except NOT_STORED:
            self.push(name, allow_secrets=allow_secrets, accept_rollback=accept_rollback)
            raise
        return Synced(pulled, self.push(name, allow_secrets=allow_secrets, accept_rollback=accept_rollback))

    @door()
    def answer(
        self, reads: int, writes: int, *, names: str = "*", trust: bool = False, erases: bool | None = None,
        caller: str | None = None, questions: int | None = None,
    ) -> int:  # fmt: skip
        """Answer another store that has this one as a live remote, over two file descriptors, until it says goodbye;
        how many turns came.

        ``names`` is the pattern of the bookmarks that it may move. ``trust``: it is a device of this store's owner, so
        that the options of its turns act here. ``erases``: its erasures erase here; without a word of it, those of a
        trusted one do. ``caller`` is what it is known as: without it, turns come from what it calls itself.
        ``questions`` limits how many are answered. A store that was opened read-only takes nothing.
        Raises: RemoteUnavailable where it falls silent or breaks off; whatever it was refused with.
        """
        space, target = self._space, self._target()
        may_erase = trust if erases is None else erases
        door = Doorkeeper(space.space, target.backend.read_only, names, trust, may_erase, caller, questions)
        return answer(space, target, Pipes(CALLER, reads, writes), door)

    @door()
    def bookmarks(self) -> builtins.list[Bookmark]:
        """Where the devices of all remotes had their bookmarks when they were last read, as ``DEVICE/NAME``: that is a
        headish, too, unless a bookmark of here is called so. Cost: one statement for each thousand."""
        space = self._space
        listed = space._read(lambda connection: list_remote_bookmarks(connection, space._number))
        return [
            Bookmark(f"{stored_name(each.device)}/{stored_name(each.name)}", each.turn) for each in listed if each.turn
        ]

    @door()
    def elsewhere(self, name: str) -> builtins.list[NameElsewhere]:
        """How a bookmark of here stands at each device that has one of that name, by device, as far as the last pull
        told. Empty for a name that is not here. Cost: one statement, and up to six for each device.
        Raises: InvalidName.
        """
        space, called = self._space, check_name(name)
        return space._read(lambda connection: find_elsewhere(connection, space._number, called))

    @door()
    def not_reached(self) -> dict[str, tuple[str, ...]]:
        """The erasures that have not reached every device yet: by the id of the receipt, ``2 of 3 devices on NAME`` for
        each remote. A device has been reached once its log says so: then the bytes are in none of its objects."""
        space = self._space
        remotes = space._read(lambda connection: read_remotes(connection, space._number))
        told: dict[str, tuple[str, ...]] = {}
        for receipt in space._read(lambda connection: ids_of_erasures(connection, space._number)):
            lines = tuple(line for each in remotes if (line := tell_unreached(each, receipt)))
            if lines:
                told[receipt] = lines
        return told

    @door()
    def pending_erasures(self) -> builtins.list[Receipt]:
        """The erasures of other stores that nobody has confirmed here: of remotes whose ``erasures`` is ask."""
        space = self._space
        found = space._read(lambda connection: pending_notices(connection, space._number))
        return [receipt for _, receipt in found]

    @door()
    def erase_pending(self, ids: Collection[str] | None = None) -> int:
        """Erase here what is pending, or the erasures with these ids; how many turns that were.

        Raises: UnknownErasure for an id of which nothing is pending; CorruptTurn.
        """
        erased = apply_pending(self._target(), ids)
        if erased:
            scrub_now(self._space._database)
        return erased

    @door()
    def dismiss_pending(self, ids: Collection[str] | None = None) -> int:
        """Keep here what is pending, or what the erasures with these ids name; how many those were. They do not ask
        again, and the machine that erased still sees that they have not reached this one.

        Raises: UnknownErasure for an id of which nothing is pending.
        """
        return dismiss_pending(self._target(), ids)

    def _wishes(self, delete: bool, force_with_lease: str | None) -> NameWishes:
        leases = () if force_with_lease is None else (self._space._read_at(force_with_lease, lambda _, turn: turn.id),)
        return NameWishes(delete, frozenset(leases))

    def _pulled(self, live: LiveSync, *, prune: bool) -> Pulled:
        done = take_all(live, prune=prune)
        self._note_arrived(done)
        return done

    def _note_arrived(self, done: Pulled) -> None:
        database = self._space._database
        database.count_written(done.stored)
        if done.erased:
            scrub_now(database)

    def _find(self, name: str) -> OpenRemote:
        space = self._space
        return space._read(lambda connection: read_remote(connection, space._number, name))

    def _save(self, base: OpenRemote, changed: OpenRemote) -> OpenRemote:
        number = self._space._number
        return write_locked(self._target(), lambda connection: save_remote(connection, number, base, changed))

    def _target(self) -> SyncTarget:
        return target_of(self._space)
