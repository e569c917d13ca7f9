"""The interface of an import reader: a function that takes a file and yields the conversations in it.

The built-in readers implement it (``registry`` lists them); other packages bring theirs under the entry point group
``headish.readers``. A reader gives each message the id of its parent, and keeps whatever its source says. It stores
nothing and knows no database: headish makes the turns, recognises those that it already has, and names the tip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol

from msgspec import Struct

from headish.imports.archives import Archive
from headish.imports.imported import ImportedTree
from headish.imports.keeping.known import ExportMemory
from headish.imports.notes import ImportNotes
from headish.imports.readers.shared.servers import ServerAddress
from headish.imports.source_files import Progress, is_running
from headish.imports.tails import LogTail
from headish.values.caches import Cache


class ImportSource(NamedTuple):
    """A file to read: ``file`` is open for bytes at its beginning, and can be rewound.

    ``path`` is None for a stream. ``name`` is what errors call the file. ``notes`` collects what the reader could not
    map, and broken records. A block of more than ``limit_bytes`` is refused. ``progress`` is called with the number of
    bytes read since the last call. If ``server`` is set, the source is a database on a server, and the file is empty.
    ``known``: the conversations of an export that the space already has; None if the import remembers none.
    ``tail``: where whoever watches a log stopped reading it; the file is positioned there.
    """

    file: BinaryIO
    path: str | None
    name: str
    notes: ImportNotes
    limit_bytes: int
    progress: Progress | None = None
    server: ServerAddress | None = None
    known: ExportMemory | None = None
    tail: LogTail | None = None

    @property
    def is_running(self) -> bool:
        """Whether a program may still write to the file; the reader of a log then holds back its last answer (rule R40,
        grown versions)."""
        return self.path is not None and is_running(self.path)

    def remember(self, archive: Archive | None) -> ExportMemory | None:
        """Return the memory of known conversations, prepared for this file of an export; None if nothing is
        remembered."""
        if self.known is not None:
            self.known.begin(self.notes, archive)
        return self.known

    def met(self, tree: ImportedTree | None) -> Iterator[ImportedTree]:
        """Remember a conversation that was read, and yield it; nothing for one in which nobody says anything."""
        if tree is not None:
            if self.known is not None:
                self.known.met(tree)
            yield tree


class SourceMessage(Struct, frozen=True, kw_only=True, gc=False):
    """A message as its source tells it. A message whose ``content`` is None says nothing: its children continue the
    last message before it.

    ``id``: unique in its conversation, and the same in every import: headish makes the turn's key from it. None if the
    source gives none; headish then recognises the message by its words.
    ``parent``: the id of the message that it continues, None for a first message. If it continues several, ``parents``
    has their ids in order. Messages may come in any order.
    ``role``: system, developer, user, assistant or tool.
    ``content``: text, or content blocks as ``Store.add_turn`` takes them.
    ``said_at``: RFC 3339 text with a zone, or milliseconds since 1970.
    ``reply``: what a provider said beside its answer: ``provider``, ``model``, ``stop_reason``, ``response_id`` and
    ``usage``, whose ``input_tokens``, ``output_tokens``, ``cache_read_input_tokens``, ``cache_creation_input_tokens``
    are disjoint; ``reasoning_tokens`` are part of the output.
    ``hidden``: model, people or both, if the source does not send it to the model, or does not show it to people.
    ``covers``: the ids of earlier messages that the content sums up; a window shows it in their place.
    ``meta`` is kept verbatim under the format's name in ``meta.app``. ``where`` names the message in notes.
    ``form``: how the message was written, if the content is that of an API's message
    (``headish.content.forms.foreign``).
    """

    id: str | None
    parent: str | None = None
    parents: Sequence[str] = ()
    role: str = "user"
    content: Sequence[Any] | str | None = None
    said_at: object = None
    key: str | None = None
    meta: Mapping[str, Any] = {}
    reply: Mapping[str, Any] | None = None
    hidden: str | None = None
    covers: Sequence[str] = ()
    where: str = ""
    form: Mapping[str, Any] | None = None
    speaker: str | None = None
    inherited: Mapping[str, Any] | None = None
    cache: Cache = False


class SourceConversation(Struct, frozen=True, kw_only=True):
    """A conversation as its source tells it: its messages on every branch, in any order.

    ``id`` is the same in every import. The bookmark gets its name from ``title``, and points at ``tip``: the id of the
    message that the source shows last, None for the newest. ``app`` is kept verbatim in the conversation's record.
    """

    format: str = ""
    """The reader's own name; headish fills it in for readers of other packages."""
    id: str | None = None
    messages: Iterable[SourceMessage] = ()
    title: str | None = None
    tip: str | None = None
    tags: Sequence[str] = ()
    archived: bool = False
    pinned: bool = False
    app: Mapping[str, Any] = {}
    logged: bool = False
    """As ``ImportedTree.logged``."""
    edits: bool = False
    """As ``ImportedTree.edits``."""
    is_state: bool = False
    """As ``ImportedConversation.is_state``."""


class ImportReader(Protocol):
    """Reads the files of one format."""

    def __call__(self, source: ImportSource, /) -> Iterator[SourceConversation | ImportedTree]:
        """Yield the conversations of a file one at a time, so that memory holds only the largest.

        An unreadable record costs only itself: ``source.notes.break_off(where, reason)``.
        Raises: InvalidImport if the file is not of the format.
        """
        ...
