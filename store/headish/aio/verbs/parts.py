"""The verbs of the parts of a store for asyncio, written by ``make aio``. They run in threads."""

# ruff: noqa: E501
from __future__ import annotations

from typing import TYPE_CHECKING

from headish.aio.fronts import Front, MappingFront
from msgspec import UNSET
from headish.aio.streams import AsyncStream

if TYPE_CHECKING:
    import builtins
    import os
    from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
    from datetime import datetime
    from headish.calls.deadline import Timeouts
    from headish.database.isolation.members import Member
    from headish.history.definitions import ToolList
    from headish.providers.pointers import NamedPointer, Pointer
    from headish.store.asking.batches import Batches
    from headish.store.asking.pointers import Pointers
    from headish.store.asking.streams import Streams
    from headish.store.asking.tools import Tools
    from headish.store.asking.unfinished import Fetched
    from headish.store.keeping.access_tokens import AccessTokens
    from headish.store.keeping.bookmarks import Bookmarks
    from headish.store.keeping.bundles import Bundles
    from headish.store.keeping.calls import Calls
    from headish.store.keeping.conversations import Conversations
    from headish.store.keeping.erase import Erasures
    from headish.store.keeping.objects import Objects
    from headish.store.keeping.remotes import Remotes
    from headish.store.keeping.spaces import Spaces
    from headish.store.space import Headishes
    from headish.syncing.bundling.writing import Progress
    from headish.values.access.tokens import Right, Token
    from headish.values.ids import TurnId
    from headish.values.names import Absent
    from headish.values.results.batches import Batch, BatchStatus, CollectedBatch
    from headish.values.results.bookmarks import Bookmark, Move
    from headish.values.results.calls import PassedCall
    from headish.values.results.conversations import Conversation, Page
    from headish.values.results.erasures import Erasure, Receipt
    from headish.values.results.objects import Object
    from headish.values.results.reports import Quota
    from headish.values.results.sharing import Applied, Bundled, Cloned, NameElsewhere, Pulled, Pushed, RemoteDevice, RemotePlace, RemoteStatus, Synced
    from headish.values.turns import Turn
    from msgspec import UnsetType
    from typing import Any, Literal


class AsyncAccessTokens(Front["AccessTokens"]):
    """For asyncio: the tokens of a database: each opens one space to its bearer, with some rights. Backups leave them out."""

    async def add(
        self, label: str, *, space: str = 'default', rights: Sequence[Right], expires_seconds: float | None =
        None
    ) -> str:
        """Make a token for an existing space, and return it. It is shown only this once: headish stores just its
        hash."""
        return await self._finish(
            self.sync.add, label=label, space=space, rights=rights, expires_seconds=expires_seconds
        )

    async def list(self) -> builtins.list[Token]:
        """The tokens of every space, expired ones included, by the number of the space and by label."""
        return await self._finish(self.sync.list)

    async def remove(self, label: str, *, space: str = 'default') -> None:
        """Remove a token. Servers notice within seconds."""
        return await self._finish(self.sync.remove, label=label, space=space)


class AsyncBatches(Front["Batches"]):
    """For asyncio: the batches of a space."""

    async def collect(self, name: str, *, timeouts: Timeouts | float | None = None) -> CollectedBatch:
        """Store the answers of a batch; each continues the turn it was asked about, as ``reply`` would."""
        return await self._wait(self.sync.collect, name=name, timeouts=timeouts)

    async def create(
        self, heads: Iterable[str], *, name: str | None = None, to: str | None = None, ptr: str | None = None,
        model: str | None = None, base_url: str | None = None, key_env: str | None = None, headers: Mapping[str,
        str] | None = None, timeouts: Timeouts | float | None = None, **settings: Any
    ) -> Batch:
        """Ask a provider to continue each of these heads, in one batch. ``collect`` stores its answers."""
        return await self._wait(
            self.sync.create, heads=heads, name=name, to=to, ptr=ptr, model=model, base_url=base_url,
            key_env=key_env, headers=headers, timeouts=timeouts, **settings
        )

    async def drop(self, name: str) -> None:
        """Forget a batch and the outcomes of its requests; the turns of its answers stay. headish does not cancel it at
        the provider."""
        return await self._finish(self.sync.drop, name=name)

    async def get(self, name: str) -> Batch:
        """A batch, with the outcomes collected so far. Calls no provider. Raises: UnknownBatch, CorruptRecord."""
        return await self._finish(self.sync.get, name=name)

    async def list(self) -> builtins.list[Batch]:
        """All batches, by name, with the outcomes collected so far. Calls no provider."""
        return await self._finish(self.sync.list)

    async def status(self, name: str, *, timeouts: Timeouts | float | None = None) -> BatchStatus:
        """Ask the provider how far a batch is. Stores nothing, with one exception: a batch whose creation was cut off
        becomes ``open`` if the provider has it."""
        return await self._wait(self.sync.status, name=name, timeouts=timeouts)


class AsyncBookmarks(MappingFront["Bookmarks", "str", "TurnId"]):
    """For asyncio: the names of a space: a mapping from each to the id of its turn, in the order of the names."""

    async def at(self, ids: Iterable[TurnId]) -> dict[TurnId, builtins.list[str]]:
        """The names at each of these turns, in their order; a turn without a name is left out."""
        return await self._finish(self.sync.at, ids=ids)

    async def erase(
        self, name: str, *, reason: str, by: str | None = None, dry_run: bool = False, scrub: bool = True
    ) -> Erasure:
        """Erase a name, even a removed one, with the names that the bookmark had before: it becomes ``erased-N``."""
        return await self._wait(self.sync.erase, name=name, reason=reason, by=by, dry_run=dry_run, scrub=scrub)

    async def history(self, name: str) -> builtins.list[Move]:
        """Every move of a name, even of a removed one, newest first. Raises: UnknownBookmark if it never was a
        bookmark."""
        return await self._finish(self.sync.history, name=name)

    async def list(
        self, prefix: str = '', limit: int | None = None, by: Literal['name', 'recency'] = 'name', *, after: str
        | None = None
    ) -> builtins.list[Bookmark]:
        """The names that begin with ``prefix``, and their turns; by name."""
        return await self._finish(self.sync.list, prefix=prefix, limit=limit, by=by, after=after)

    async def remove(self, name: str, *, expect: str | Absent | None = None) -> None:
        """Remove a name; its turns and its history stay. ``expect`` is that of ``set``."""
        return await self._finish(self.sync.remove, name=name, expect=expect)

    async def rename(self, old: str, new: str, *, expect: str | Absent | None = None) -> Bookmark:
        """Rename a bookmark: its history and its conversation's record go with it."""
        return await self._finish(self.sync.rename, old=old, new=new, expect=expect)

    async def set(self, name: str, headish: str, *, expect: str | Absent | None = None) -> Bookmark:
        """Set a name, or move it anywhere. ``name@{1}`` as ``headish`` undoes the last move."""
        return await self._finish(self.sync.set, name=name, headish=headish, expect=expect)

    async def undo(self, name: str, n: int = 1, *, expect: str | Absent | None = None) -> builtins.list[Turn]:
        """Move a name back by ``n`` turns along first parents; return the turns that left it, oldest first. They stay
        stored."""
        return await self._finish(self.sync.undo, name=name, n=n, expect=expect)


class AsyncBundles(Front["Bundles"]):
    """For asyncio: bundles of a space: files that carry turns to another store, which checks all of it before it stores any."""

    async def apply(
        self, path: str | os.PathLike[str], *, require_signed: bool = False, signers: str | os.PathLike[str] |
        None = None, revoked: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> Applied:
        """Store the turns, names and records of a bundle. Nothing that is here is changed: a turn that is here already
        stays as it is, and a name moves only forward, along turns or along turns that say the same."""
        return await self._wait(
            self.sync.apply, path=path, require_signed=require_signed, signers=signers, revoked=revoked,
            progress=progress
        )

    async def create(
        self, path: str | os.PathLike[str], headish: Headishes | None = None, *, since: str | None = None,
        allow_secrets: bool = False, sign: bool = False, key: str | os.PathLike[str] | None = None, progress:
        Progress | None = None
    ) -> Bundled:
        """Write a bundle of the whole space, of the threads that lead to a headish or to several, or of everything
        after ``since``, the ``cursor`` of an earlier bundle."""
        return await self._wait(
            self.sync.create, path=path, headish=headish, since=since, allow_secrets=allow_secrets, sign=sign,
            key=key, progress=progress
        )


class AsyncCalls(Front["Calls"]):
    """For asyncio: the calls of a space that passed the gateway of ``headish serve``, a row for each request."""

    async def body(self, id: str) -> dict[str, Any]:
        """The body of a call's request, equal as JSON to what the client sent, except for what looked like a key, and
        for lone surrogates, which are U+FFFD."""
        return await self._finish(self.sync.body, id=id)

    async def get(self, id: str) -> PassedCall:
        """The call with this id. Raises: UnknownCall, CorruptRecord."""
        return await self._finish(self.sync.get, id=id)

    async def list(
        self, name: str | None = None, *, before: str | None = None, limit: int = 100
    ) -> builtins.list[PassedCall]:
        """The calls, the newest first; with ``name`` those of the conversation of a bookmark. ``before`` is the id of a
        call: only older ones."""
        return await self._finish(self.sync.list, name=name, before=before, limit=limit)

    async def spooled(self) -> int:
        """Count the calls of the space that passed the gateway of this machine and are not stored yet."""
        return await self._finish(self.sync.spooled)


class AsyncConversations(Front["Conversations"]):
    """For asyncio: the conversations of a space: each bookmark, and everything without one that grew from a first turn."""

    async def find(self, key: str) -> Conversation:
        """The conversation that has this key. Raises: UnknownConversation, InvalidArgument."""
        return await self._finish(self.sync.find, key=key)

    async def get(self, subject: str) -> Conversation:
        """The conversation of a bookmark, or of a turn that a headish names."""
        return await self._finish(self.sync.get, subject=subject)

    async def list(
        self, *, limit: int = 50, after: str | None = None, archived: bool | None = False, pinned: bool | None =
        None, since: datetime | str | None = None, until: datetime | str | None = None, names: str | None =
        None, tag: str | None = None, model: str | None = None, role: str | None = None, tool: str | None =
        None, erased: bool = False, twins: bool = False
    ) -> Page:
        """A page of conversations: bookmarks, the last moved first, then those without one, the newest first."""
        return await self._finish(
            self.sync.list, limit=limit, after=after, archived=archived, pinned=pinned, since=since, until=until,
            names=names, tag=tag, model=model, role=role, tool=tool, erased=erased, twins=twins
        )

    async def parts(self, key: str, *, limit: int = 100) -> builtins.list[Conversation]:
        """The conversations that are parts of the one with this key, such as the sub-agents of a session: those whose
        keys are ``KEY:…``, in the order of their keys."""
        return await self._finish(self.sync.parts, key=key, limit=limit)

    async def set(
        self, subject: str, *, title: str | UnsetType | None = UNSET, tags: Iterable[str] | UnsetType = UNSET,
        archived: bool | UnsetType = UNSET, pinned: bool | UnsetType = UNSET, key: str | UnsetType | None =
        UNSET, app: Mapping[str, Any] | UnsetType | None = UNSET, expect: int | Absent | None = None
    ) -> Conversation:
        """Change the record of a conversation; fields that are left out stay as they are. ``subject`` is that of
        ``get``."""
        return await self._finish(
            self.sync.set, subject=subject, title=title, tags=tags, archived=archived, pinned=pinned, key=key,
            app=app, expect=expect
        )


class AsyncErasures(Front["Erasures"]):
    """For asyncio: the receipts of a space: what was erased, when, by whom and why. ``store.erasures[number]`` is one of them."""

    def __getitem__(self, number: int) -> Coroutine[Any, Any, Receipt]:
        """``await part[key]``."""
        return self._finish(self.sync.__getitem__, number=number)

    def __aiter__(self) -> AsyncStream[Receipt]:
        return self._stream(self.sync.__iter__)

    async def count(self) -> int:
        """How many there are: ``len``."""
        return await self._finish(self.sync.__len__)

    async def is_scrubbed(self) -> bool:
        """Whether all erased bytes are off the disk."""
        return await self._finish(lambda: self.sync.is_scrubbed)

    async def list(self) -> builtins.list[Receipt]:
        """All receipts, oldest first."""
        return await self._finish(self.sync.list)


class AsyncObjects(Front["Objects"]):
    """For asyncio: the objects of a space: bytes under a kind and a key."""

    async def get(self, kind: str, key: str) -> Object:
        """The object of a kind that has this key. Raises: UnknownObject (an InputError and a KeyError)."""
        return await self._finish(self.sync.get, kind=kind, key=key)

    async def list(
        self, kind: str, *, prefix: str = '', after: str | None = None, limit: int = 100
    ) -> builtins.list[Object]:
        """The objects of a kind whose keys begin with ``prefix``, in the order of their keys' bytes; at the most
        ``limit`` of those after the key ``after``."""
        return await self._finish(self.sync.list, kind=kind, prefix=prefix, after=after, limit=limit)

    async def put(self, kind: str, key: str, data: bytes, *, expect: int | Absent | None = None) -> int:
        """Store an object, replacing the one with its key if there is one. Returns its new revision. The first revision
        is 1 and each change adds one. A revision never repeats: an object that is removed and made anew has a higher
        one. ``expect`` is the revision that the object must have now, or ``ABSENT``. ``add_turns(…, objects=…)`` stores
        objects with turns. Cost: two statements. Raises: RecordChanged; TooLarge past ``payload_limit_bytes``;
        InvalidArgument."""
        return await self._finish(self.sync.put, kind=kind, key=key, data=data, expect=expect)

    async def remove(self, kind: str, key: str, *, expect: int | Absent | None = None) -> None:
        """Remove an object; nothing of it stays. ``expect`` is that of ``put``."""
        return await self._finish(self.sync.remove, kind=kind, key=key, expect=expect)


class AsyncPointers(MappingFront["Pointers", "str", "Pointer"]):
    """For asyncio: the provider pointers of a space: a mapping from each name to what it points at."""

    async def default(self) -> str | None:
        """The pointer of threads that have none; None if there is no default. ``set_default`` chooses it."""
        return await self._finish(lambda: self.sync.default)

    async def history(self, name: str) -> builtins.list[NamedPointer]:
        """Everything that a name ever pointed at, newest first. Raises: UnknownPointer if there never was such a
        name."""
        return await self._finish(self.sync.history, name=name)

    async def list(self) -> builtins.list[NamedPointer]:
        """All provider pointers, by name. Cost: one statement."""
        return await self._finish(self.sync.list)

    async def remove(self, name: str) -> None:
        """Remove a name; its history stays. Raises: UnknownPointer."""
        return await self._finish(self.sync.remove, name=name)

    async def set(
        self, name: str, target: str, *, params: Mapping[str, Any] | None = None, base_url: str | None = None,
        key_env: str | None = None, context_window: int | None = None, cloud: str | None = None, region: str |
        None = None, project: str | None = None, profile: str | None = None, resource: str | None = None,
        api_version: str | None = None, headers: Mapping[str, str] | None = None, dialect: str | None = None,
        timeouts: Mapping[str, float] | None = None
    ) -> Pointer:
        """Point a name at ``PROVIDER/MODEL``. Its history keeps what it pointed at before."""
        return await self._finish(
            self.sync.set, name=name, target=target, params=params, base_url=base_url, key_env=key_env,
            context_window=context_window, cloud=cloud, region=region, project=project, profile=profile,
            resource=resource, api_version=api_version, headers=headers, dialect=dialect, timeouts=timeouts
        )

    async def set_default(self, name: str | None) -> None:
        """Make a pointer the default for threads that name none; None removes the default."""
        return await self._finish(self.sync.set_default, name=name)

    async def url(self, name: str, *, stream: bool = True) -> str:
        """The URL that a name's requests go to. Sends nothing, and looks for no key."""
        return await self._finish(self.sync.url, name=name, stream=stream)


class AsyncRemotes(Front["Remotes"]):
    """For asyncio: the remotes of a space: folders and buckets in which each store that syncs has a log of its own."""

    async def add(
        self, name: str, url: str, *, device: str | None = None, plain: bool = False, passphrase: bool = False,
        key: str | None = None, key_env: str | None = None
    ) -> RemotePlace:
        """Name a place: a folder (``file:///…``), a bucket (``s3://``, ``gs://``, ``az://``), or a live remote: another
        database (its path, or ``postgresql://…`` without a password), a store that a command reaches
        (``ssh://HOST/PATH``, ``cmd:COMMAND``), or a server of headish (``https://HOST``)."""
        return await self._finish(
            self.sync.add, name=name, url=url, device=device, plain=plain, passphrase=passphrase, key=key,
            key_env=key_env
        )

    async def answer(
        self, reads: int, writes: int, *, names: str = '*', trust: bool = False, erases: bool | None = None,
        caller: str | None = None, questions: int | None = None
    ) -> int:
        """Answer another store that has this one as a live remote, over two file descriptors, until it says goodbye;
        return how many turns came."""
        return await self._wait(
            self.sync.answer, reads=reads, writes=writes, names=names, trust=trust, erases=erases, caller=caller,
            questions=questions
        )

    async def bookmarks(self) -> builtins.list[Bookmark]:
        """The bookmarks of the devices of all remotes as they were when last read, named ``DEVICE/NAME``. Such a name
        is a headish, too, unless a bookmark here has it. Cost: one statement for each thousand."""
        return await self._finish(self.sync.bookmarks)

    async def clone(
        self, name: str, url: str, *, device: str | None = None, plain: bool = False, passphrase: bool = False,
        key: str | None = None, key_env: str | None = None
    ) -> Cloned:
        """Take the history at a place into this empty store: ``add``, then ``pull``. The last turn that came is
        ``@``."""
        return await self._finish(
            self.sync.clone, name=name, url=url, device=device, plain=plain, passphrase=passphrase, key=key,
            key_env=key_env
        )

    async def devices(self, name: str) -> builtins.list[RemoteDevice]:
        """The stores that sync with a remote, this one first, as they were when they were last read. A live remote has
        only the store at its other end."""
        return await self._finish(self.sync.devices, name=name)

    async def dismiss_pending(self, ids: Collection[str] | None = None) -> int:
        """Dismiss the pending erasures, or those with these ids, and keep their turns here; return how many were
        dismissed."""
        return await self._finish(self.sync.dismiss_pending, ids=ids)

    async def elsewhere(self, name: str) -> builtins.list[NameElsewhere]:
        """Compare a bookmark with the one of that name on each device that has it, by device, as of the last pull.
        Empty if there is no such bookmark here."""
        return await self._finish(self.sync.elsewhere, name=name)

    async def erase_pending(self, ids: Collection[str] | None = None) -> int:
        """Carry out the pending erasures here, or those with these ids; return how many turns were erased."""
        return await self._finish(self.sync.erase_pending, ids=ids)

    async def exchange(
        self, name: str, *, prune: bool = False, allow_secrets: bool = False, accept_rollback: bool = False,
        create: bool = False
    ) -> Synced:
        """Pull, then push. It pushes even if the pull raises because something cannot be stored here: to a folder or
        bucket for any such reason, to a live remote if the space has no room for it. A live remote that is read-only is
        only pulled. ``create`` is that of ``push``."""
        return await self._wait(
            self.sync.exchange, name=name, prune=prune, allow_secrets=allow_secrets,
            accept_rollback=accept_rollback, create=create
        )

    async def invite(self, name: str, recipient: str) -> str:
        """Give another machine the key of a remote; ``recipient`` is what ``add`` gave there. Returns the fingerprint
        of the key, which the other one confirms by ``set(name, key=…)``."""
        return await self._wait(self.sync.invite, name=name, recipient=recipient)

    async def list(self) -> builtins.list[RemotePlace]:
        """The remotes, by name."""
        return await self._finish(self.sync.list)

    async def not_reached(self) -> dict[str, tuple[str, ...]]:
        """The erasures that have not reached every device yet: by the id of the receipt, ``2 of 3 devices on NAME`` for
        each remote."""
        return await self._finish(self.sync.not_reached)

    async def pending_erasures(self) -> builtins.list[Receipt]:
        """The erasures of other stores that nobody has confirmed here: those from remotes whose ``erasures`` is ask."""
        return await self._finish(self.sync.pending_erasures)

    async def pull(self, name: str, *, prune: bool = False, accept_rollback: bool = False) -> Pulled:
        """Read the logs of all other devices there, as far as they go, and store what is new."""
        return await self._wait(self.sync.pull, name=name, prune=prune, accept_rollback=accept_rollback)

    async def push(
        self, name: str, *, allow_secrets: bool = False, accept_rollback: bool = False, delete: bool = False,
        force_with_lease: str | None = None, create: bool = False
    ) -> Pushed:
        """Append what is new here to this store's log there; to a live remote, send it and publish names."""
        return await self._wait(
            self.sync.push, name=name, allow_secrets=allow_secrets, accept_rollback=accept_rollback, delete=delete,
            force_with_lease=force_with_lease, create=create
        )

    async def remove(self, name: str) -> None:
        """Forget a remote, with its keys on this machine. Turns that came from there stay, and so do the files
        there."""
        return await self._finish(self.sync.remove, name=name)

    async def revoke(
        self, name: str, device: str, *, allow_secrets: bool = False, tell: Callable[[str], None] | None = None
    ) -> str:
        """Remove a device: make a new key for all others, write this store's log anew, and remove the log of the device
        once its turns are here. Returns the fingerprint that each of the others confirms."""
        return await self._wait(self.sync.revoke, name=name, device=device, allow_secrets=allow_secrets, tell=tell)

    async def set(
        self, name: str, *, key: str | None = None, names: str | None = None, erasures: str | None = None,
        trust: bool | None = None, sign: bool | None = None, require_signed: bool | None = None, key_env: str |
        None = None
    ) -> RemotePlace:
        """Change the settings of a remote."""
        return await self._finish(
            self.sync.set, name=name, key=key, names=names, erasures=erasures, trust=trust, sign=sign,
            require_signed=require_signed, key_env=key_env
        )

    async def status(self, name: str) -> RemoteStatus:
        """The state of a remote, without asking it, and of the syncs that a server of this machine runs with it."""
        return await self._wait(self.sync.status, name=name)


class AsyncSpaces(Front["Spaces"]):
    """For asyncio: the spaces of a database: iterate over their names, add, rename, limit, remove an empty one."""

    async def contains(self, item: object) -> bool:
        """Whether it is there: ``in``."""
        return await self._finish(lambda: item in self.sync)

    def __aiter__(self) -> AsyncStream[str]:
        return self._stream(self.sync.__iter__)

    async def count(self) -> int:
        """How many there are: ``len``."""
        return await self._finish(self.sync.__len__)

    async def add(self, space: str) -> None:
        """Make a space. Raises: InvalidName, SpaceTaken."""
        return await self._finish(self.sync.add, space=space)

    async def erase(
        self, space: str, *, reason: str, by: str | None = None, dry_run: bool = False, scrub: bool = True
    ) -> Erasure:
        """Erase a space with all that it holds: turns, names, pointers, tools, objects, records of conversations."""
        return await self._wait(self.sync.erase, space=space, reason=reason, by=by, dry_run=dry_run, scrub=scrub)

    async def grant(self, space: str, login: str, *, role: Literal['reader', 'writer', 'eraser'] = 'writer') -> None:
        """Open a space of a secured database to a login of the server, and give the login a role if it has none. A
        login has one role for all spaces that are open to it: a ``reader`` reads, a ``writer`` stores, an ``eraser``
        erases, too. Raises: NotIsolated, UnknownSpace, InvalidName, InvalidArgument for an unknown login or one that
        has another role; RoleMissing unless this login is the owner."""
        return await self._finish(self.sync.grant, space=space, login=login, role=role)

    async def limit(
        self, space: str, *, turns: int | Literal['none'] | None = None, bytes: int | Literal['none'] | None =
        None
    ) -> Quota:
        """Set how many turns a space may hold, and how many bytes of payloads. Returns the limits and what it holds.
        ``"none"`` removes a limit; an argument that is left out changes nothing. Every write past a limit raises
        ``QuotaExceeded``: the statement that takes the turn's number compares them. A limit below what the space holds
        removes nothing. Raises: InvalidName, UnknownSpace, InvalidArgument."""
        return await self._finish(self.sync.limit, space=space, turns=turns, bytes=bytes)

    async def list(self, *, limit: int | None = None, after: str | None = None) -> builtins.list[str]:
        """The names, in the order of their bytes; ``limit`` of them, after the name ``after``, which need not exist."""
        return await self._finish(self.sync.list, limit=limit, after=after)

    async def members(self) -> builtins.list[Member]:
        """The logins and the spaces that they may enter, by login and space. Raises: NotIsolated, RoleMissing."""
        return await self._finish(self.sync.members)

    async def remove(self, space: str) -> None:
        """Remove a space that never held a turn, a pointer or tools. Raises: InvalidName, UnknownSpace,
        SpaceNotEmpty."""
        return await self._finish(self.sync.remove, space=space)

    async def rename(self, old: str, new: str) -> None:
        """Give a space another name; stores that have it open go on. Raises: InvalidName, UnknownSpace, SpaceTaken."""
        return await self._finish(self.sync.rename, old=old, new=new)

    async def revoke(self, space: str, login: str) -> None:
        """Close a space to a login: stores that it has open fail from their next transaction on. Without any space
        left, the login loses its role."""
        return await self._wait(self.sync.revoke, space=space, login=login)


class AsyncStreams(Front["Streams"]):
    """For asyncio: the answers that are arriving; iterate over the ids of their streams."""

    def __aiter__(self) -> AsyncStream[TurnId]:
        return self._stream(self.sync.__iter__)

    async def count(self) -> int:
        """How many there are: ``len``."""
        return await self._finish(self.sync.__len__)

    async def drop(self, stream: str) -> None:
        """Forget a stream that cannot be recovered, with its journal. Raises: UnknownStream."""
        return await self._finish(self.sync.drop, stream=stream)

    async def list(self) -> builtins.list[TurnId]:
        """The ids of the streams, oldest first."""
        return await self._finish(self.sync.list)

    async def recover(self, *, force: bool = False) -> builtins.list[Turn]:
        """Make turns of the answers that dead processes left behind, incomplete if their end never arrived."""
        return await self._finish(self.sync.recover, force=force)

    async def recover_quietly(self) -> tuple[Turn, ...]:
        """``recover`` for a store that is being opened: problems go to the log and stop nothing."""
        return await self._finish(self.sync.recover_quietly)

    async def recover_remote(self, *, wait_seconds: float = 0) -> Fetched:
        """Fetch the answers that are incomplete here and kept by their provider (OpenAI's Responses that were asked
        with ``store`` or ``background``), and store each as the turn that takes the incomplete one's place."""
        return await self._finish(self.sync.recover_remote, wait_seconds=wait_seconds)


class AsyncTools(MappingFront["Tools", "str", "ToolList"]):
    """For asyncio: the tools that a space knows: a mapping from the name of each MCP server to its list of definitions."""

    async def list(self) -> dict[str, ToolList]:
        """The tools of all servers, by name. Cost: one statement."""
        return await self._finish(self.sync.list)

    async def remove(self, server: str) -> None:
        """Forget the tools of a server; their history stays. Raises: UnknownServer."""
        return await self._finish(self.sync.remove, server=server)

    async def set(self, server: str, tools: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> str:
        """Store what an MCP server answers to ``tools/list``: the list, or the result that holds it as ``tools``."""
        return await self._finish(self.sync.set, server=server, tools=tools)
