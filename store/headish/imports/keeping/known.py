"""Remember what exports said when they were last imported, so that known bytes are not read again.

An object of the space (rule R38, objects) holds, for each export format, hashes of the imported files and of their
conversations, with the counts of the import. A hash covers the edition of the readers and their options: if those
change, no bytes are known.

headish trusts known bytes only while the conversation's record is as the import left it. If its name or title changed,
or another export of the same conversation was imported since, headish reads it again. An erasure forgets the whole
object. Nothing is remembered of a conversation that was broken, has no key, or lost a message's time. No stored turn
depends on this memory.
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
"""The formats whose exports are remembered. Only they qualify: everything that an import takes is in the file
itself."""
HASH_BYTES = 16
TALKS_LIMIT, FILES_LIMIT = 100_000, 100
"""The most conversations and files to remember, the latest ones."""
_ASSETS = (b"file-", b"file_")


class KnownTalk(Struct, frozen=True, array_like=True):
    """A conversation: its key, a hash of what the import noted in its record, and its counts."""

    key: str
    noted: bytes
    messages: int
    unmapped: dict[str, int] = {}


class KnownFile(Struct, frozen=True, array_like=True):
    """A file: its counts, and the hashes of its conversations."""

    trees: int
    messages: int
    unmapped: dict[str, int]
    talks: list[bytes]


class KnownExports(Struct, array_like=True):
    """All that is remembered of a format."""

    files: dict[bytes, KnownFile] = {}
    talks: dict[bytes, KnownTalk] = {}


def read_known(connection: Connection, space: int, format: str) -> KnownExports:
    """Read what is remembered of a format. Cost: one statement."""
    row = find_object(connection, space, KNOWN, format.encode())
    try:
        return KnownExports() if row is None else msgspec.msgpack.decode(row[3], type=KnownExports)
    except msgspec.MsgspecError:
        return KnownExports()  # of another edition: everything is read again


def read_noted(connection: Connection, space: int, keys: Iterable[str]) -> dict[str, bytes]:
    """Return, by key, a hash of what an import noted in each conversation's record.

    Cost: one statement for each 64 keys.
    """
    hashes: dict[str, bytes] = {}
    for key, data in records_by_keys(connection, space, [each.encode() for each in dict.fromkeys(keys)]):
        app = msgspec.json.decode(data).get("app")
        noted = app.get("import") if isinstance(app, Mapping) else None
        hashes[key.decode()] = blake3(strictjson.encode(noted)).digest(HASH_BYTES)
    return hashes


class _BeforeIt(NamedTuple):
    """The hash of a conversation, and the counts before it was read."""

    mark: bytes
    broken: int
    counts: dict[str, int]


class ExportMemory:
    """The known conversations of a format, while one of its exports is read."""

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
        """Hash a file, and rewind it."""
        hasher = self._begin.copy()
        while chunk := file.read(CHUNK_BYTES):
            hasher.update(chunk)
            self.file_bytes += len(chunk)
        file.seek(0)
        return hasher.digest(HASH_BYTES)

    def find_file(self, mark: bytes) -> Imported | None:
        """Return what an import of a file would count; None if the file must be read."""
        known = self._known.files.get(mark)
        if known is None or not all(talk in self._fresh for talk in known.talks):
            return None
        return Imported(trees=known.trees, messages=known.messages, unmapped=known.unmapped)

    def begin(self, notes: ImportNotes, archive: Archive | None) -> None:
        """Begin a file of conversations; the next one in an archive."""
        self._notes, self._listing = notes, b"" if archive is None else archive.listing

    def skip(self, data: bytes) -> bool:
        """Whether these bytes of a conversation are known, so that the reader need not decode them. If not, the reader
        calls ``met`` with the conversation."""
        hasher = self._begin.copy()
        if self._listing and any(each in data for each in _ASSETS):
            hasher.update(self._listing)  # a message points at members of the archive, which may have changed
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
        """Forget the bytes that were not known: they hold more than one conversation."""
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
        """Store what was read, if anything of it is new. The caller holds the lock of the space."""
        # Read again under the lock: another import may have stored its memory since this one began.
        known = read_known(connection, space, self._format)
        noted = read_noted(connection, space, (talk.key for talk in self._new.values()))
        new = {each: replace(talk, noted=noted[talk.key]) for each, talk in self._new.items() if talk.key in noted}
        # One entry for each conversation: its record no longer is what an older export left.
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
