"""The verbs of a store for asyncio, written by ``make aio``. They run in threads."""

# ruff: noqa: E501
from __future__ import annotations

from typing import TYPE_CHECKING, overload

from headish.aio.fronts import Opening, Turns
from headish.aio.verbs.parts import AsyncBatches, AsyncBookmarks, AsyncBundles, AsyncCalls, AsyncConversations, AsyncErasures, AsyncObjects, AsyncPointers, AsyncRemotes, AsyncStreams, AsyncTools
from headish.aio.opening import StoreFront
from headish.aio.streams import AsyncStream

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterable, Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from headish.aio.bridging import AsyncApprove, AsyncRun
    from headish.content.drafts import Continues, DocumentOptions, TurnOptions
    from headish.content.encoding import Content
    from headish.content.prices import Prices
    from headish.history.budgets.counting import Tokens
    from headish.history.edits.differences import Diff
    from headish.history.edits.drafts import Edit
    from headish.history.edits.edit import Edited
    from headish.history.reading.costs import Cost
    from headish.history.reading.usage import Count as UsageCount
    from headish.history.reading.versions import Siblings, Version
    from headish.history.searching.index import Progress as IndexProgress
    from headish.history.writing.copies import Copied
    from headish.imports.imported import Imported
    from headish.imports.keeping.storing import Preview
    from headish.imports.notes import NoteListener
    from headish.imports.source_files import Progress as SourceFilesProgress
    from headish.providers.shared.values import Finding, Request
    from headish.store.asking.ask import OnDelta
    from headish.store.asking.reply import Asked, Response
    from headish.store.asking.tool_calls import Approve, Run, Told
    from headish.store.call_options import CallOptions
    from headish.store.keeping.export_all import ExportOptions
    from headish.store.reading.tokens import Budget, Count, ToolList
    from headish.store.space import Headishes, Space
    from headish.store.store import Store, T
    from headish.store.transactions.reading import ReadTransaction
    from headish.store.transactions.writing import WriteTransaction
    from headish.values.blocks import ContentBlock, ToolUse
    from headish.values.ids import TurnId
    from headish.values.messages import ContextWindow, Message, Note
    from headish.values.names import Absent
    from headish.values.results.changes import Change
    from headish.values.results.erasures import Erasure
    from headish.values.results.exports import Backup, Exported, Folder
    from headish.values.results.reports import Audited, JudgedSignature, Report, Signed, Stats
    from headish.values.results.searches import Hit
    from headish.values.results.threads import Stretch, Thread, Tree
    from headish.values.turns import Recorded, Turn
    from headish.verify.space import Progress
    from os import PathLike
    from typing import Any, BinaryIO, Literal, Unpack
    from headish.aio.answers import AsyncAnswer, AsyncCapture
    from typing import Self


class StoreVerbs(StoreFront):
    """For asyncio: one space of one database. Safe to share between threads; a context manager."""

    async def abbreviate(self, ids: Iterable[TurnId]) -> dict[TurnId, str]:
        """The handle of each turn, for lists that a person reads: the shortest that is unique at this moment."""
        return await self._finish(self.sync.abbreviate, ids=ids)

    async def add_document(
        self, document: bytes | str | os.PathLike[str], *, name: str | None = None, content_type: str | None =
        None, keep_path: bool = False, **turn: Unpack[DocumentOptions]
    ) -> Turn:
        """Store a document as a turn of its own: the raw bytes, from a path (text is a path) or as they are given."""
        return await self._finish(
            self.sync.add_document, document=document, name=name, content_type=content_type, keep_path=keep_path,
            **turn
        )

    async def add_turn(
        self, content: Content, *, objects: Iterable[Mapping[str, Any]] = (), **turn: Unpack[TurnOptions]
    ) -> Turn:
        """Store one turn; it is durable when this returns."""
        return await self._finish(self.sync.add_turn, content=content, objects=objects, **turn)

    async def add_turns(
        self, items: Iterable[Mapping[str, Any] | Content] | AsyncIterable[Mapping[str, Any] | Content], *,
        moves: bool = True, objects: Iterable[Mapping[str, Any]] = ()
    ) -> Turns:
        """Store a stream of turns of any length, in bounded memory."""
        return Turns(await self._take(self.sync.add_turns, items=items, moves=moves, objects=objects))

    async def ask(
        self, content: Content | None = None, *, continues: Continues = None, bookmark: str | None = None,
        force: bool = False, ptr: str | None = None, to: str | None = None, model: str | None = None, tools:
        ToolList | None = None, servers: Sequence[str] | None = None, system: str | None = None, inherited:
        Mapping[str, Any] | None = None, on_delta: OnDelta | None = None, compact: Literal['auto'] | None =
        None, **options: Any
    ) -> Turn:
        """Say something, ask the provider, and store its reply as the turn that comes next."""
        return await self._ask(
            self.sync.ask, content=content, continues=continues, bookmark=bookmark, force=force, ptr=ptr, to=to,
            model=model, tools=tools, servers=servers, system=system, inherited=inherited, on_delta=on_delta,
            compact=compact, **options
        )

    async def ask_title(self, headish: str = '@', *, ptr: str) -> str:
        """Ask the model of a provider pointer for a title of a conversation; ``conversations.set(…, title=)`` sets
        it."""
        return await self._wait(self.sync.ask_title, headish=headish, ptr=ptr)

    async def at_least(self, cursor: str, *, timeout: float = 10.0) -> Self:
        """The same space for reads that must see everything up to a cursor: each waits until the database is that
        far."""
        return self._beside(await self._finish(self.sync.at_least, cursor=cursor, timeout=timeout))

    def audit(
        self, *, after: str | None = None, since: datetime | None = None, until: datetime | None = None, author:
        str | None = None, kinds: Collection[str] | None = None
    ) -> AsyncStream[Audited]:
        """Who wrote what: a line for each change that ``follow`` gives, in the order of the commits, up to now."""
        return self._stream(self.sync.audit, after=after, since=since, until=until, author=author, kinds=kinds)

    async def backup(
        self, dest: str | os.PathLike[str], *, verify: Literal['full', 'quick'] = 'full', progress: Progress |
        None = None
    ) -> Backup:
        """Back up only this space, into a file of frames, as ``Database.backup`` does for all spaces."""
        return await self._wait(self.sync.backup, dest=dest, verify=verify, progress=progress)

    @property
    def batches(self) -> AsyncBatches:
        """Batches: requests that a provider answers together, later and at a lower price."""
        return AsyncBatches(self.sync.batches)

    async def blocks(self, headish: str) -> tuple[ContentBlock, ...]:
        """The content blocks of a turn. Raises: CorruptTurn."""
        return await self._finish(self.sync.blocks, headish=headish)

    @property
    def bookmarks(self) -> AsyncBookmarks:
        """The names of the space, and the turns that they name."""
        return AsyncBookmarks(self.sync.bookmarks)

    @property
    def bundles(self) -> AsyncBundles:
        """Turns as files for other stores."""
        return AsyncBundles(self.sync.bundles)

    @property
    def calls(self) -> AsyncCalls:
        """The calls that passed the gateway."""
        return AsyncCalls(self.sync.calls)

    def capture(
        self, headish: Asked, provider: str, *, replaces: Turn | None = None, lease_seconds: float = 30.0
    ) -> Opening[AsyncCapture]:
        """Begin to store an answer that arrives event by event: ``feed`` each, then ``finish``."""
        return self._open_capture(
            self.sync.capture, headish=headish, provider=provider, replaces=replaces, lease_seconds=lease_seconds
        )

    async def children(
        self, headish: str, *, limit: int | None = None, after: str | None = None, versions: bool = False
    ) -> list[Turn]:
        """The turns that continue this one, in commit order; ``limit`` of them, after the turn ``after``."""
        return await self._finish(self.sync.children, headish=headish, limit=limit, after=after, versions=versions)

    async def compact(
        self, headish: str = '@', *, to: float | int = 0.4, over: float | int | None = None, ptr: str | None =
        None, count: Count | None = None, warn: Callable[[Note], object] | None = None, expect: Any = None,
        **call: Unpack[CallOptions]
    ) -> Turn | None:
        """Compact a branch to a size: an overlay covers its oldest part. Returns None if there is nothing to cover."""
        return await self._ask(
            self.sync.compact, headish=headish, to=to, over=over, ptr=ptr, count=count, warn=warn, expect=expect,
            **call
        )

    async def contents(self, ids: Iterable[TurnId]) -> dict[TurnId, tuple[ContentBlock, ...]]:
        """The content blocks of turns, by id, for lists; of an erased turn the mark of its erasure."""
        return await self._finish(self.sync.contents, ids=ids)

    @property
    def conversations(self) -> AsyncConversations:
        """The conversations of the space, with their titles, tags, keys and other records."""
        return AsyncConversations(self.sync.conversations)

    async def copy_to(self, to: str | Space, headish: Headishes = '@', *, keep: bool = True) -> Copied:
        """Copy the threads that lead to a headish, or to several, into another space, in one transaction."""
        return await self._wait(self.sync.copy_to, to=to, headish=headish, keep=keep)

    async def cost(
        self, headish: Headishes | None = '@', *, prices: str | PathLike[str] | Mapping[str, Any] | Prices, by:
        str | None = None, since: datetime | str | None = None, until: datetime | str | None = None
    ) -> list[Cost]:
        """Count what the replies that lead to a headish or to several cost; None counts those of the whole space."""
        return await self._finish(self.sync.cost, headish=headish, prices=prices, by=by, since=since, until=until)

    async def diff(self, first: str, second: str | None = None) -> Diff:
        """Compare two branches from their fork on: turn by turn, then word by word."""
        return await self._finish(self.sync.diff, first=first, second=second)

    async def edit(
        self, headish: str, content: Edit, *, keep: bool = False, json: bool = False, expect: str | Absent |
        None = None
    ) -> Edited:
        """Say something else in the place of a turn: a sibling that supersedes it, and is like it in all but its
        content."""
        return await self._finish(self.sync.edit, headish=headish, content=content, keep=keep, json=json, expect=expect)

    async def erase(
        self, headish: Headishes, *, scope: Literal['turn', 'thread', 'branch'] = 'turn', said_before: datetime
        | None = None, meta: bool = False, content: bool = False, repeats: bool = False, reason: str, by: str |
        None = None, keep_name: bool = False, dry_run: bool = False, scrub: bool = True
    ) -> Erasure:
        """Erase what turns say. They stay where they are, as tombstones: id, role, links, times and hashes remain."""
        return await self._wait(
            self.sync.erase, headish=headish, scope=scope, said_before=said_before, meta=meta, content=content,
            repeats=repeats, reason=reason, by=by, keep_name=keep_name, dry_run=dry_run, scrub=scrub
        )

    @property
    def erasures(self) -> AsyncErasures:
        """The receipts of what was erased."""
        return AsyncErasures(self.sync.erasures)

    async def export(
        self, headish: Headishes = '@', format: str = '2.2', *, drop: Collection[str] = (), as_user: bool =
        False, for_completion: bool = False, for_training: bool = False, with_reasoning: bool = False, policy:
        str = 'ocm', tight: bool = False, raw: bool = False, told: Callable[[Note], None] | None = None,
        **spelling: Any
    ) -> str:
        """The thread that leads to a headish as a transcript (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``)."""
        return await self._wait(
            self.sync.export, headish=headish, format=format, drop=drop, as_user=as_user,
            for_completion=for_completion, for_training=for_training, with_reasoning=with_reasoning, policy=policy,
            tight=tight, raw=raw, told=told, **spelling
        )

    def export_each(
        self, headishes: Iterable[str] | None = None, format: str = 'chat', **settings: Unpack[ExportOptions]
    ) -> AsyncStream[Exported]:
        """Export conversations one by one: those of the headishes, or all of the space, each as the thread of its
        tip."""
        return self._stream(self.sync.export_each, headishes=headishes, format=format, **settings)

    async def export_folder(
        self, folder: str | os.PathLike[str], headishes: Iterable[str] | None = None, format: str = 'chat', *,
        overwrite: bool = False, told: Callable[[Exported, str], None] | None = None, **settings:
        Unpack[ExportOptions]
    ) -> Folder:
        """Export conversations as ``export_each`` does, one file each, into a folder that is made if it is missing."""
        return await self._finish(
            self.sync.export_folder, folder=folder, headishes=headishes, format=format, overwrite=overwrite,
            told=told, **settings
        )

    async def find(self, key: str) -> Turn | None:
        """The turn with a key, None if there is none. If ``KEY;2``, ``KEY;3`` … supersede it, the newest of them."""
        return await self._finish(self.sync.find, key=key)

    def follow(
        self, after: str | None = None, *, wait: bool = True, pulse: float | None = None, kinds: Collection[str]
        | None = None, bookmark: str | None = None
    ) -> AsyncStream[Change]:
        """Every change of the space after a cursor, once and in the order of the commits."""
        return self._stream(self._follow_steps, after=after, wait=wait, pulse=pulse, kinds=kinds, bookmark=bookmark)

    async def get(self, headish: str) -> Turn:
        """The turn that a headish names."""
        return await self._finish(self.sync.get, headish=headish)

    async def heads(
        self, *, limit: int | None = None, after: str | None = None, by: Literal['start', 'tip'] = 'start',
        erased: bool = False, versions: bool = False, twins: bool = False
    ) -> list[Turn]:
        """The turns that nothing continues, the branch that began last first; ``limit`` of them, after ``after``.
        ``erased`` shows those that were erased, too."""
        return await self._finish(
            self.sync.heads, limit=limit, after=after, by=by, erased=erased, versions=versions, twins=twins
        )

    async def hide(
        self, first: str, last: str | None = None, *, viewer: str = 'both', continues: str | None = None,
        expect: Any = None
    ) -> Turn | None:
        """Hide the turns from ``first`` to ``last``, both included, from the model, from people, or from both: an
        overlay."""
        return await self._finish(
            self.sync.hide, first=first, last=last, viewer=viewer, continues=continues, expect=expect
        )

    async def import_changed(
        self, source: str | os.PathLike[str], format: str | None = None, *, progress: SourceFilesProgress | None
        = None, told: NoteListener | None = None
    ) -> Imported:
        """Import what has changed since the last call: the file, or the sessions of coding agents in a folder (of
        ``format``: ``claude-code``, ``codex``, ``gemini-cli``)."""
        return await self._finish(self.sync.import_changed, source=source, format=format, progress=progress, told=told)

    async def import_file(
        self, source: str | os.PathLike[str] | BinaryIO, format: str | None = None, *, bookmark: str | None =
        None, force: bool = False, continues: str | None = None, partial: bool = False, strict: bool = True,
        start_role: str | None = None, bos: str = '[BOS]', eos: str = '[EOS]', keep_raw: bool = False, dry_run:
        bool | Preview = False, progress: SourceFilesProgress | None = None, told: NoteListener | None = None
    ) -> Imported:
        """Import a file (a path, or one open for reading bytes); its format is detected when not given."""
        return await self._wait(
            self.sync.import_file, source=source, format=format, bookmark=bookmark, force=force,
            continues=continues, partial=partial, strict=strict, start_role=start_role, bos=bos, eos=eos,
            keep_raw=keep_raw, dry_run=dry_run, progress=progress, told=told
        )

    async def keep(
        self, first: str, last: str | None = None, *, continues: str | None = None, expect: Any = None
    ) -> Turn | None:
        """Keep the turns from ``first`` to ``last``, both included, in every budget: an overlay."""
        return await self._finish(self.sync.keep, first=first, last=last, continues=continues, expect=expect)

    async def lint(
        self, headish: Headishes = '@', to: str | None = None, *, ptr: str | None = None, tools: ToolList | None
        = None, budget: Budget = None, count: Count | None = None, base_url: str | None = None, dialect: str |
        None = None, **settings: Any
    ) -> list[Finding]:
        """List what a request would repair, leave out or refuse; refusals first. Changes nothing."""
        return await self._finish(
            self.sync.lint, headish=headish, to=to, ptr=ptr, tools=tools, budget=budget, count=count,
            base_url=base_url, dialect=dialect, **settings
        )

    async def log(
        self, headish: str = '@', *, limit: int | None = None, since: datetime | str | None = None, until:
        datetime | str | None = None, role: str | None = None, grep: str | None = None
    ) -> list[Turn]:
        """The turns of a thread, newest first: its walk read backwards. Only ``limit`` turns are read."""
        return await self._finish(
            self.sync.log, headish=headish, limit=limit, since=since, until=until, role=role, grep=grep
        )

    @overload
    async def messages(
        self, headish: str = '@', *, limit: int | None = None, form: None = None
    ) -> list[tuple[Turn, Message]]:
        ...

    @overload
    async def messages(
        self, headish: str = '@', *, limit: int | None = None, form: str, drop: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        ...

    async def messages(
        self, headish: str = '@', *, limit: int | None = None, form: str | None = None, drop: Collection[str] =
        ()
    ) -> Any:
        """The stored turns of a thread in walk order, each with its message; with ``limit``, the last ones."""
        return await self._finish(self.sync.messages, headish=headish, limit=limit, form=form, drop=drop)

    @property
    def objects(self) -> AsyncObjects:
        """Data that programs keep beside the turns, under a kind and a key."""
        return AsyncObjects(self.sync.objects)

    def open_answer(
        self, headish: Headishes = '@', bookmark: str | None = None, *, ptr: str | None = None, to: str | None =
        None, model: str | None = None, tools: ToolList | None = None, **options: Any
    ) -> Opening[AsyncAnswer]:
        """Ask the provider to continue a headish; iterate over the answer, which is stored at its end."""
        return self._open_answer(
            self.sync.open_answer, headish=headish, bookmark=bookmark, ptr=ptr, to=to, model=model, tools=tools,
            **options
        )

    async def open_calls(self, headish: str = '@') -> list[ToolUse]:
        """The calls of the reply that a headish names, without those that may not run."""
        return await self._finish(self.sync.open_calls, headish=headish)

    def open_retry(self, headish: str = '@', *, stream: bool = True, **options: Any) -> Opening[AsyncAnswer]:
        """``retry`` as an answer to iterate over, as ``open_answer`` gives it."""
        return self._open_answer(self.sync.open_retry, headish=headish, stream=stream, **options)

    async def options(self, headish: Headishes = '@') -> dict[str, Any]:
        """The options of a headish alone, read from the sparse index of turns that set any (rule R12, options on
        demand)."""
        return await self._finish(self.sync.options, headish=headish)

    async def original(
        self, first: str, last: str | None = None, *, continues: str | None = None, expect: Any = None
    ) -> Turn | None:
        """Show turns to everybody as they were said, whatever overlays cover them: an overlay. It also ends
        ``keep``."""
        return await self._finish(self.sync.original, first=first, last=last, continues=continues, expect=expect)

    async def payload(self, headish: str) -> bytes:
        """The stored bytes of a turn, checked against its hash. Raises: CorruptTurn."""
        return await self._finish(self.sync.payload, headish=headish)

    @property
    def payload_limit_bytes(self) -> int:
        """The largest payload or object that the database takes."""
        return self.sync.payload_limit_bytes

    @property
    def pointers(self) -> AsyncPointers:
        """The provider pointers of the space."""
        return AsyncPointers(self.sync.pointers)

    async def position(self) -> str:
        """Where the feed ends now, as a cursor: for ``follow(after=…)`` and ``at_least``."""
        return await self._finish(self.sync.position)

    async def read(self, work: Callable[[ReadTransaction], T]) -> T:
        """Run a function whose reads all see one moment of the space, and return its result."""
        return await self._finish(lambda: self.sync.read(work=work))

    @property
    def read_only(self) -> bool:
        """Whether the database was opened read-only: a verb that writes raises ReadOnly."""
        return self.sync.read_only

    async def record(
        self, messages: Iterable[Message | Mapping[str, Any]] | Mapping[str, Any], *, continues: str | None =
        None, bookmark: str | None = None, form: str | None = None
    ) -> Recorded:
        """Store a whole message list that a client sends again and again: only its new tail becomes turns."""
        return await self._finish(
            self.sync.record, messages=messages, continues=continues, bookmark=bookmark, form=form
        )

    async def reindex(self, progress: IndexProgress | None = None) -> None:
        """Rebuild the search index of the space, from its first turn on; ``progress`` is called with turns."""
        return await self._wait(self.sync.reindex, progress=progress)

    @property
    def remotes(self) -> AsyncRemotes:
        """Other places that hold the same space."""
        return AsyncRemotes(self.sync.remotes)

    async def render(
        self, headish: str = '@', format: str = 'html', *, branches: bool = False, debug: bool = False, title:
        str | None = None
    ) -> str:
        """Write a thread for people, as ``html`` (one self-contained page), ``markdown`` or ``text``."""
        return await self._wait(
            self.sync.render, headish=headish, format=format, branches=branches, debug=debug, title=title
        )

    def render_pieces(
        self, headish: str = '@', format: str = 'html', *, branches: bool = False, debug: bool = False, title:
        str | None = None
    ) -> AsyncStream[str]:
        """``render`` in pieces, each when it is reached: an HTML page without ``branches`` is never in memory as a
        whole."""
        return self._stream(
            self.sync.render_pieces, headish=headish, format=format, branches=branches, debug=debug, title=title
        )

    async def replace(
        self, headish: str, content: Content, *, continues: str | None = None, expect: Any = None
    ) -> Turn:
        """Show other words in place of a turn's, to the model and to people: an overlay."""
        return await self._finish(
            self.sync.replace, headish=headish, content=content, continues=continues, expect=expect
        )

    async def reply(self, headish: Asked, provider: str, response: Response | AsyncIterable[Any]) -> Turn:
        """Store a reply as the assistant turn that continues a headish; its bookmark moves along."""
        return await self._take(self.sync.reply, headish=headish, provider=provider, response=response)

    async def request(
        self, headish: Headishes = '@', to: str | None = None, *, ptr: str | None = None, tools: ToolList | None
        = None, model: str | None = None, params: Mapping[str, Any] | None = None, budget: Budget = None, count:
        Count | None = None, base_url: str | None = None, dialect: str | None = None, **settings: Any
    ) -> Request:
        """The request that asks a provider to continue a headish."""
        return await self._finish(
            self.sync.request, headish=headish, to=to, ptr=ptr, tools=tools, model=model, params=params,
            budget=budget, count=count, base_url=base_url, dialect=dialect, **settings
        )

    async def resolve(
        self, headish: Headishes = '@', *, raw: bool = False, budget: Budget = None, count: Count | None = None
    ) -> ContextWindow:
        """The context window of a headish: the messages that lead to it, and the options they hand down, merged."""
        return await self._finish(self.sync.resolve, headish=headish, raw=raw, budget=budget, count=count)

    async def retry(self, headish: str = '@', *, on_delta: OnDelta | None = None, **options: Any) -> Turn:
        """Ask for another reply in place of a turn: the new one is stored beside it, and its bookmark moves to it."""
        return await self._ask(self.sync.retry, headish=headish, on_delta=on_delta, **options)

    async def run_tools(
        self, headish: str, run: Run | AsyncRun, *, approve: Approve | None | AsyncApprove = None, told: Told |
        None = None
    ) -> Turn | None:
        """Run the open calls of a reply, and store their results as one turn that continues it; None without calls."""
        return await self._wait(self.sync.run_tools, headish=headish, run=run, approve=approve, told=told)

    async def say(
        self, content: Content | None, *, continues: Continues = None, bookmark: str | None = None, force: bool
        = False, ptr: str | None = None, to: str | None = None, servers: Sequence[str] | None = None, system:
        str | None = None, model: str | None = None, inherited: Mapping[str, Any] | None = None
    ) -> tuple[Headishes, str | None]:
        """Store what the user says; return the turn to ask from, and the bookmark that moved to it."""
        return await self._finish(
            self.sync.say, content=content, continues=continues, bookmark=bookmark, force=force, ptr=ptr, to=to,
            servers=servers, system=system, model=model, inherited=inherited
        )

    async def search(
        self, query: str = '', *, role: str | None = None, model: str | None = None, since: datetime | None =
        None, until: datetime | None = None, name: str | None = None, tag: str | None = None, tool: str | None =
        None, fields: Collection[str] = ('text', 'calls', 'results', 'documents'), order: str = 'rank', limit:
        int = 20, versions: bool = False, twins: bool = False, progress: IndexProgress | None = None
    ) -> list[Hit]:
        """Find the turns of the space that match a query; the best first, or with ``order="time"`` the newest."""
        return await self._finish(
            self.sync.search, query=query, role=role, model=model, since=since, until=until, name=name, tag=tag,
            tool=tool, fields=fields, order=order, limit=limit, versions=versions, twins=twins, progress=progress
        )

    async def siblings(self, headish: str, *, versions: bool = False) -> Siblings:
        """The versions of a turn, in commit order, and which of them it is: ``turns``, ``current``, ``version``."""
        return await self._finish(self.sync.siblings, headish=headish, versions=versions)

    async def sign(
        self, headish: str = '@', *, thread: bool = False, key: str | os.PathLike[str] | None = None
    ) -> Signed:
        """Sign a turn with ``ssh-keygen``; with ``thread``, all that leads to it."""
        return await self._finish(self.sync.sign, headish=headish, thread=thread, key=key)

    async def signatures(
        self, ids: Iterable[TurnId] | None = None, *, signers: str | os.PathLike[str] | None = None, revoked:
        str | os.PathLike[str] | None = None
    ) -> list[JudgedSignature]:
        """The signatures of turns, or of all turns of the space, each with what it proves; in the order in which they
        came."""
        return await self._finish(self.sync.signatures, ids=ids, signers=signers, revoked=revoked)

    async def stats(self, *, versions: bool = False) -> Stats:
        """Counts and sizes of the space. An answer that grew between two imports counts once; with ``versions``, as
        often as it was stored."""
        return await self._finish(self.sync.stats, versions=versions)

    @property
    def streams(self) -> AsyncStreams:
        """The answers that are arriving."""
        return AsyncStreams(self.sync.streams)

    async def stretch(
        self, headish: str = '@', *, around: str | None = None, start: int | None = None, limit: int = 50,
        onward: bool = False, faces: bool = False
    ) -> Stretch:
        """Read ``limit`` consecutive turns of a thread: the last ones, those from ``start`` on, or those around a
        turn."""
        return await self._finish(
            self.sync.stretch, headish=headish, around=around, start=start, limit=limit, onward=onward, faces=faces
        )

    async def summarize(
        self, first: str, last: str | None = None, content: Content | None = None, *, ptr: str | None = None,
        continues: str | None = None, expect: Any = None, **call: Unpack[CallOptions]
    ) -> Turn:
        """Show a model a summary in place of the turns from ``first`` to ``last``, both included: an overlay."""
        return await self._ask(
            self.sync.summarize, first=first, last=last, content=content, ptr=ptr, continues=continues,
            expect=expect, **call
        )

    async def text(self, headish: str) -> str:
        """The text of a turn: its text blocks joined, never its reasoning or calls. Raises: CorruptTurn."""
        return await self._finish(self.sync.text, headish=headish)

    async def thread(self, headish: Headishes = '@') -> Thread:
        """The schema reference's thread records of a walk, as a list."""
        return await self._finish(self.sync.thread, headish=headish)

    async def tokens(
        self, headish: Headishes = '@', *, count: Count | None = None, model: str | None = None, ptr: str | None
        = None, tools: ToolList | None = None
    ) -> Tokens:
        """Count the tokens of a request for a headish: its messages as a model sees them, and the tools of the
        thread."""
        return await self._finish(self.sync.tokens, headish=headish, count=count, model=model, ptr=ptr, tools=tools)

    @property
    def tools(self) -> AsyncTools:
        """The tools of MCP servers that the space knows."""
        return AsyncTools(self.sync.tools)

    async def tree(self, headish: str = '@', *, limit: int | None = None, versions: bool = False) -> Tree:
        """All turns of the tree that a turn belongs to, with all branches and their names, in commit order."""
        return await self._finish(self.sync.tree, headish=headish, limit=limit, versions=versions)

    def turns(self, after: str | None = None) -> AsyncStream[Turn]:
        """All turns of the space in commit order, after ``after``; read in pages, each when it is reached."""
        return self._stream(self.sync.turns, after=after)

    async def unhide(
        self, first: str, last: str | None = None, *, continues: str | None = None, expect: Any = None
    ) -> Turn | None:
        """Show hidden turns again, even those that are stored hidden: an overlay. Summaries and replacements stay."""
        return await self._finish(self.sync.unhide, first=first, last=last, continues=continues, expect=expect)

    async def usage(self, headish: Headishes | None = '@', *, by: str | None = None) -> list[UsageCount]:
        """Count the tokens of the replies that lead to a headish or to several; None counts those of the whole
        space."""
        return await self._finish(self.sync.usage, headish=headish, by=by)

    async def verify(self, progress: Progress | None = None) -> Report:
        """Derive every hash, digest and seal again, check links, chains and bookmarks, and say what disagrees."""
        return await self._wait(self.sync.verify, progress=progress)

    async def versions(self, ids: Iterable[TurnId]) -> dict[TurnId, Version]:
        """The version number of each of these turns, and how many versions it has; turns without other versions are
        left out. For lists."""
        return await self._finish(self.sync.versions, ids=ids)

    async def write(self, work: Callable[[WriteTransaction], T]) -> T:
        """Run a function that writes turns, names, objects and erasures in one transaction, all or nothing; return its
        result once everything is stored."""
        return await self._finish(lambda: self.sync.write(work=work))
