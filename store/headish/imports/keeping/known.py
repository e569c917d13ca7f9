"""What an export said when it was last imported: bytes that are known are not read again.

An object of the space (rule R38, objects) holds, for each format of exports, the hashes of the files and of the
conversations in them that were imported, with what the import counted. A hash covers the edition of the readers and
their options, so whatever would read the bytes in another way does not know them.

Known bytes are believed as long as the record of their conversation is as the import left it: where a name or a title
went, or another export of the same conversation was imported since, it is read again. An erasure forgets all of it.
Where something was broken, left out for its time or has no key, nothing is remembered. Nothing that was stored depends
on this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import BinaryIO, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Struct
from msgspec.structs import replace

from headish.content import strictjson
from headish.database.query import Connection
from headish.imports.archives import CHUNK_BYTES, Archive
from headish.imports.imported import EDITION, Imported, ImportedTree
from headish.imports.notes import ImportNotes
from headish.rows.conversations import records_by_keys
from headish.rows.objects import KNOWN, Put, find_object, put_object

FORMATS = frozenset(("chatgpt", "claude"))
"""The formats whose exports are remembered: a file says all that an import takes from it."""
HASH_BYTES = 16
TALKS_LIMIT, FILES_LIMIT = 100_000, 100
"""So many conversations and files are remembered, the last ones."""
_ASSETS = (b"file-", b"file_")


class KnownTalk(Struct, frozen=True, array_like=True):
    """A conversation: its key, a hash of what the import noted in its record, and what was counted."""

    key: str
    noted: bytes
    messages: int
    unmapped: dict[str, int] = {}


class KnownFile(Struct, frozen=True, array_like=True):
    """A file: what was counted, and the hashes of its conversations."""

    trees: int
    messages: int
    unmapped: dict[str, int]
    talks: list[bytes]


class KnownExports(Struct, array_like=True):
    """All that is remembered of a format."""

    files: dict[bytes, KnownFile] = {}
    talks: dict[bytes, KnownTalk] = {}


def read_known(connection: Connection, space: int, format: str) -> KnownExports:
    """What is remembered of a format. Cost: one statement."""
    row = find_object(connection, space, KNOWN, format.encode())
    try:
        return KnownExports() if row is None else msgspec.msgpack.decode(row[3], type=KnownExports)
    except msgspec.MsgspecError:
        return KnownExports()  # of another edition: everything is read again


def read_noted(connection: Connection, space: int, keys: Iterable[str]) -> dict[str, bytes]:
    """A hash of what an import noted in the record of each conversation that has one of these keys.

    Cost: one statement for each 64 keys.
    """
    found: dict[str, bytes] = {}
    for key, data in records_by_keys(connection, space, [each.encode() for each in dict.fromkeys(keys)]):
        app = msgspec.json.decode(data).get("app")
        noted = app.get("import") if isinstance(app, Mapping) else None
        found[key.decode()] = blake3(strictjson.encode(noted)).digest(HASH_BYTES)
    return found


class _BeforeIt(NamedTuple):
    """The hash of a conversation, and what was counted before it was read."""

    mark: bytes
    broken: int
    counts: dict[str, int]


class ExportMemory:
    """What is known of a format while one of its exports is read."""

    def __init__(self, format: str, limit_bytes: int, known: KnownExports, noted: Mapping[str, bytes]) -> None:
        """``noted``: as ``read_noted`` of all that is known."""
        self._begin = blake3(b"headish-import-1\n%b\n%d\n%d\n" % (format.encode(), EDITION, limit_bytes))
        self._format, self._known = format, known
        self._fresh = {mark: talk for mark, talk in known.talks.items() if noted.get(talk.key) == talk.noted}
        self._met: list[bytes] = []
        self._new: dict[bytes, KnownTalk] = {}
        self._is_whole = True
        self._now: _BeforeIt | None = None
        self._notes, self._listing = ImportNotes(""), b""
        self.skipped = Imported()
        self.file_bytes = 0

    def mark_file(self, file: BinaryIO) -> bytes:
        """The hash of a file, which is left at its beginning."""
        hasher = self._begin.copy()
        while chunk := file.read(CHUNK_BYTES):
            hasher.update(chunk)
            self.file_bytes += len(chunk)
        file.seek(0)
        return hasher.digest(HASH_BYTES)

    def find_file(self, mark: bytes) -> Imported | None:
        """What an import of a file would count; None where it must be read."""
        known = self._known.files.get(mark)
        if known is None or not all(talk in self._fresh for talk in known.talks):
            return None
        return Imported(trees=known.trees, messages=known.messages, unmapped=known.unmapped)

    def begin(self, notes: ImportNotes, archive: Archive | None) -> None:
        """Read a file of conversations, of an archive the next one."""
        self._notes, self._listing = notes, b"" if archive is None else archive.listing

    def skip(self, data: bytes) -> bool:
        """Whether these bytes of a conversation are known, so that it is not decoded; else ``met`` is told of it."""
        hasher = self._begin.copy()
        if self._listing and any(each in data for each in _ASSETS):
            hasher.update(self._listing)  # what a message points at stands beside it
        mark = hasher.update(data).digest(HASH_BYTES)
        talk = self._fresh.get(mark)
        if talk is None:
            self._now = _BeforeIt(mark, self._notes.whole.broken, dict(self._notes.counts))
            return False
        self._met.append(mark)
        self.skipped = self.skipped.plus(Imported(trees=1, messages=talk.messages))
        self._notes.counts.update(talk.unmapped)
        return True

    def pass_over(self) -> None:
        """The bytes that were not known are of more than one conversation."""
        self._now = None

    def met(self, tree: ImportedTree) -> None:
        """Remember the conversation whose bytes were not known."""
        now, self._now = self._now, None
        key = None if tree.about is None else tree.about.key
        if now is None or key is None or tree.untimed or self._notes.whole.broken > now.broken:
            self._is_whole = False
            return
        unmapped = self._notes.counts - Counter(now.counts)
        self._met.append(now.mark)
        self._new[now.mark] = KnownTalk(key, b"", len(tree.drafts), dict(unmapped))

    def remember(self, connection: Connection, space: int, mark: bytes, done: Imported) -> None:
        """Remember what was read, if anything of it is new. The space is locked."""
        known = read_known(connection, space, self._format)
        noted = read_noted(connection, space, (talk.key for talk in self._new.values()))
        new = {each: replace(talk, noted=noted[talk.key]) for each, talk in self._new.items() if talk.key in noted}
        keys = {talk.key for talk in new.values()}
        talks = {each: talk for each, talk in known.talks.items() if talk.key not in keys} | new
        talks = dict(list(talks.items())[-TALKS_LIMIT:])
        files = {each: file for each, file in known.files.items() if each != mark}
        if self._is_whole and not done.broken and all(each in talks for each in self._met):
            files[mark] = KnownFile(done.trees, done.messages, dict(done.unmapped), self._met)
        files = {each: file for each, file in files.items() if all(talk in talks for talk in file.talks)}
        files = dict(list(files.items())[-FILES_LIMIT:])
        if (files, talks) != (known.files, known.talks):
            data = msgspec.msgpack.encode(KnownExports(files, talks))
            put_object(connection, space, Put(KNOWN, self._format.encode(), data))
