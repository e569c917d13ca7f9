"""What an import reader is: a function that is given a file and yields the conversations in it.

The built-in readers are written to this interface (``registry`` lists them), and another package brings its own under
the entry point group ``headish.readers``. A reader looks for the parent that each message names, and keeps whatever its
source says. It stores nothing and knows no database: headish makes the turns, recognises those that it has, and names
the tip.
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
    """A file that is read: ``file`` is open at its beginning, for bytes, and can be rewound.

    ``path`` is None for a stream. ``name`` is what errors call it. ``notes`` takes what has no place of its own, and
    records that are broken. A block of more than ``limit_bytes`` is refused. ``progress`` is called with the number of
    bytes read since the last call. With ``server`` the source is a database on a server, and the file is empty.
    ``known``: which conversations of an export are in the space already; None where none is to be remembered.
    ``tail``: where a log was read to before, by whoever watches it; the file stands there.
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
        """Whether a program may still write to the file: a reader of a log holds back its last answer then (rule R40,
        grown versions)."""
        return self.path is not None and is_running(self.path)

    def remember(self, notes: ImportNotes, archive: Archive | None) -> ExportMemory | None:
        """What is known of the conversations of an export's next file."""
        if self.known is not None:
            self.known.begin(notes, archive)
        return self.known

    def met(self, tree: ImportedTree) -> ImportedTree:
        """A conversation that was read, to be known from now on."""
        if self.known is not None:
            self.known.met(tree)
        return tree


class SourceMessage(Struct, frozen=True, kw_only=True, gc=False):
    """A message as its source tells it. ``content`` None: it says nothing, and what names it as its parent continues
    the last message before it.

    ``id``: unique in its conversation, and the same in every import: the turn's key is made of it. None where the
    source gives none; the message is then recognised by its words.
    ``parent``: the id of what it continues, None for a first message; of one that continues several, ``parents`` has
    their ids in order. Messages may come in any order.
    ``role``: system, developer, user, assistant or tool.
    ``content``: text, or content blocks as ``Store.add_turn`` takes them.
    ``said_at``: RFC 3339 text with a zone, or milliseconds since 1970.
    ``reply``: what a provider said beside its answer: ``provider``, ``model``, ``stop_reason``, ``response_id`` and
    ``usage``, whose ``input_tokens``, ``output_tokens``, ``cache_read_input_tokens``, ``cache_creation_input_tokens``
    are disjoint; ``reasoning_tokens`` are part of the output.
    ``hidden``: model, people or both, where the source does not send it on, or does not show it.
    ``covers``: the ids of the messages before it that the content sums up: a window shows it in their place.
    ``meta`` is kept verbatim under the format's name in ``meta.app``. ``where`` names the message in notes.
    ``form`` says how an API's message was written, where the content is one (``headish.content.forms.foreign``).
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
    """A conversation as its source tells it: its messages with every branch, in any order.

    ``id`` is the same in every import. The bookmark is made of the ``title``, and lies on ``tip``: the id of the
    message that the source shows last, None for the newest. ``app`` is kept verbatim with the conversation's record.
    """

    format: str = ""
    """The reader's own name; headish fills it in for a reader of another package."""
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
        """The conversations of a file, one at a time: memory holds the largest.

        A record that cannot be read costs itself: ``source.notes.break_off(where, reason)``.
        Raises: InvalidImport for a file that is none of the format.
        """
        ...
