"""The trees of drafts that every importer yields, ready to be stored, and the results of an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from headish.content.drafts import Draft
from headish.content.facts import read_short
from headish.errors import InvalidArgument
from headish.values.grammar import Headish
from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

EDITION = 2
"""The edition of the readers. Raise it when a reader learns to read more: every file is then read again."""


class ImportedConversation(Struct, frozen=True, kw_only=True):
    """What a source says of a conversation. ``names`` are candidates for the tip's bookmark, the first choice first.

    ``is_state``: ``app`` is the conversation's current state, and a later import replaces it.
    """

    key: str | None
    format: str
    title: str = ""
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    archived: bool = False
    pinned: bool = False
    app: Mapping[str, Any] = {}
    is_state: bool = False


Link: TypeAlias = "int | bytes | tuple[int | bytes, ...] | None"


class ImportedTree(Struct, frozen=True):
    """A tree of messages. ``parents[i]`` says what ``drafts[i]`` continues: an index; or None for a root; or the key of
    a turn that may be in another file (a root if there is none); or several indexes and keys, in order.

    Parents come before children. ``bookmark`` is the name for ``drafts[named]``: the root, or another message.
    ``untimed`` counts the messages whose time was impossible and left out (rule R29, two times). With ``about`` the
    tree is a conversation, and ``drafts[named]`` is its tip (``naming``).
    ``logged``: the tree comes from files that share messages and are read while a program writes them. A key then means
    one message in whatever file, and what follows a message that has changed since is stored again after the new
    version.
    ``edits``: people edit their questions in the program, so first questions beside one another are versions of one.
    ``goes_on``: a part of a conversation that an earlier tree has already counted.
    ``covers[i]`` are the indexes of the messages that ``drafts[i]`` sums up, or their keys if they are in an earlier
    tree.
    """

    drafts: tuple[Draft, ...]
    parents: tuple[Link, ...]
    bookmark: str | None = None
    named: int = 0
    untimed: int = 0
    about: ImportedConversation | None = None
    logged: bool = False
    edits: bool = False
    goes_on: bool = False
    covers: Mapping[int, tuple[int | bytes, ...]] = {}

    def continues(self, index: int) -> tuple[int | bytes, ...]:
        """The parents of a message, in order."""
        parents = self.parents[index]
        return () if parents is None else parents if isinstance(parents, tuple) else (parents,)


def make_key(format: str, *parts: object) -> str | None:
    """Return the key of a message that its source names: ``FORMAT:CONVERSATION:ID``, or ``FORMAT:ID`` if ids are global
    (rule R35, keys). None if a part is missing, is not text, or makes an invalid key."""
    texts = [part for part in parts if isinstance(part, str) and part]
    # Without one of its parts, the key could be that of another conversation's message.
    if len(texts) < len(parts):
        return None
    try:
        # A part may be too long for a key, or hold a NUL: the message is then recognised by its words, not refused.
        return read_short("key", ":".join([format, *texts]))
    except InvalidArgument:
        return None


class ThreadNaming(NamedTuple):
    """The names that the caller of an import asks for: the bookmark of the tip, and what the thread continues.

    Without ``force`` an existing name only moves forward.
    """

    bookmark: str | None = None
    force: bool = False
    continues: Headish | None = None


class UnreadFiles(PlainResult, frozen=True):
    """Files of folders that an import passed over: how many, the first of them, and those that an import of their own
    would take, each with its format. ``empty`` files, such as those of sessions in which nobody said anything, are
    counted apart."""

    count: int = 0
    files: tuple[str, ...] = ()
    importable: Mapping[str, str] = {}
    empty: int = 0

    def plus(self, other: UnreadFiles) -> UnreadFiles:
        """Add two reports."""
        files = (*self.files, *other.files)[:UNREAD_SHOWN]
        importable = {**self.importable, **other.importable}
        return UnreadFiles(self.count + other.count, files, importable, self.empty + other.empty)


UNREAD_SHOWN = 10
"""The number of passed-over files to name, apart from those that another import would take."""


class Imported(PlainResult, frozen=True):
    """What an import did. ``messages`` is how many were read, ``added`` how many of them were new.

    ``tips`` are the last turns of the threads that were imported from transcripts, in order. ``untimed`` counts the
    messages whose time was left out: it lies before 1970 or in the future, or has no zone. ``broken`` counts the
    records that could not be read, ``held_back`` the last answers of sessions that may still be written, and
    ``unmapped`` says how many of what had no place of its own. ``unread`` is what the command passed over in folders.
    """

    trees: int = 0
    messages: int = 0
    added: int = 0
    bookmarks: int = 0
    tips: tuple[TurnId, ...] = ()
    untimed: int = 0
    broken: int = 0
    held_back: int = 0
    unmapped: Mapping[str, int] = {}
    unread: UnreadFiles = UnreadFiles()

    def plus(self, other: Imported) -> Imported:
        """Add two results."""
        summed = [name for name in self.__struct_fields__ if name not in ("unmapped", "unread")]
        unmapped = dict(Counter(self.unmapped) + Counter(other.unmapped))
        return Imported(
            **{name: getattr(self, name) + getattr(other, name) for name in summed},
            unmapped=unmapped, unread=self.unread.plus(other.unread),
        )  # fmt: skip
