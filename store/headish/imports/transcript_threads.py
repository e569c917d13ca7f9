"""Import a transcript file as one thread, so that a second import of the same file stores nothing.

A message is recognised as a stored turn that says the same after the same turns, and that has the same keys beside it:
a digest does not cover the header of a transcript, and the header must not be lost. Import this module late: it loads
every parser.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial as bind
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from msgspec.structs import replace

from headish.content.drafts import Draft, make_document_draft
from headish.content.hashes import digest_turn
from headish.database.query import Connection
from headish.errors import BookmarkTaken, InvalidTranscript, TooLarge, UnknownFormat
from headish.history.reading.find import find_turn
from headish.history.reading.walk import leads_to
from headish.history.writing.append import append
from headish.history.writing.batches import in_batches
from headish.history.writing.record import match_stored
from headish.imports.detection import detect_conversations
from headish.imports.imported import Imported, ThreadNaming
from headish.imports.keeping.conversation_names import may_name
from headish.imports.notes import ImportNotes
from headish.imports.reader import ImportSource
from headish.imports.readers.api import API_READERS as API_READERS
from headish.imports.readers.format_checks import UTF16, check_fits, is_utf16
from headish.imports.readers.transcripts import Outline, drafts_from, outline
from headish.imports.registry import READERS, list_formats
from headish.imports.source_files import Progress, SourceFile
from headish.imports.unpacking import peek
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.turns import StoredTurn, turn_at, turns_by_digest
from headish.rows.upkeep.receipts import has_erasures
from headish.transcripts import detect
from headish.transcripts.formats import FORMATS as FORMATS
from headish.transcripts.formats import is_format as is_format
from headish.values.ids import Mint, TurnId
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish.values.messages import Message
from headish.values.names import check_name, new_refusal, stored_name
from headish.values.places import Place

DETECTED_BYTES = 1024 * 1024
Read: TypeAlias = Callable[..., Any]
Store: TypeAlias = Callable[..., Any]
"""A transaction that reads, and one that stores turns: ``store/space.py`` has both."""
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*[\[{\"\]])")
_UNKNOWN = "no format is recognised; name it with --from (format= in Python): 'headish import --help' lists them"
_UNKNOWN_JSON = (
    "this is JSON, but of no format that is recognised; name it with --from (format= in Python): chat, responses or "
    "anthropic for the messages of an API, and 'headish import --help' lists the others"
)
_TREE = re.compile(rb'"(?:prompt|message_tree_id)"\s*:')
Beside = Callable[[int], tuple[bytes | None, bytes | None]]
"""What a turn keeps beside its message: headish's own keys and the inherited options, as stored."""


class ThreadImport:
    """Imports transcripts into a space."""

    def __init__(self, read: Read, store: Store, space: int, limit_bytes: int) -> None:
        self._read, self._store, self._space, self._limit_bytes = read, store, space, limit_bytes

    def run(
        self,
        file: BinaryIO,
        name: str,
        format: str,
        names: ThreadNaming,
        keep_raw: bool,
        progress: Progress | None,
        settings: dict[str, Any],
    ) -> Imported:
        """Import one file, which must be rewindable, after the turn that it ``continues``.

        Raises: InvalidTranscript, InvalidImport, InvalidName, BookmarkTaken; UnknownTurn.
        """
        bookmark, _, continues = names
        encoded = None if continues else _name_of(name)
        encoded = check_name(bookmark, is_new=True) if bookmark is not None else encoded
        base = None
        if continues is not None:
            headish = continues
            base = self._read(lambda connection: find_turn(connection, self._space, headish))
        after = None if base is None else base.digest
        # The file is read twice, so each byte counts half.
        half = None if progress is None else lambda read: progress(read // 2)
        try:
            outlined = outline(file, name, format, self._limit_bytes, progress=half, after=after, **settings)
        except InvalidTranscript as error:
            if keep_raw:
                error.add_note(f"the file is kept as a document: turn {self._keep_raw(file, name)}")
            raise
        beside = _beside(outlined)
        find = bind(find_thread, space=self._space, digests=outlined.digests, beside=beside, base=base)
        first, stored = self._read(find)
        tip = None if stored is None else stored.place
        file.seek(0)
        added, total = 0, len(outlined.digests)
        new = drafts_from(file, outlined, first, self._limit_bytes, progress=half, **settings)
        # A transaction for each batch: no transaction is held while the file is read, and memory holds one batch.
        for portion in in_batches(new) if first < total else ():
            digests = outlined.digests[first : first + len(portion)]
            part = ThreadPortion(drafts=portion, digests=digests, first=first, before=tip, beside=beside)
            tip, count = self._store(bind(store_portion, space=self._space, part=part))
            first, added = first + len(portion), added + count
        assert tip is not None
        if bookmark is None and continues is not None and continues.bookmark is not None:
            carried = continues.bookmark.encode()
            self._store(lambda connection, _: _carry(connection, self._space, carried, base, tip))
        # Names come last: until all of the thread is stored, no bookmark shows a part of it.
        name_tip = bind(self._name_tip, tip=tip, name=encoded, names=names, is_new=added > 0)
        end, is_named = self._store(name_tip)
        return Imported(trees=1, messages=total, added=added, bookmarks=int(is_named), tips=(end,))

    def _name_tip(
        self, connection: Connection, _mint: Mint, tip: Place, name: bytes | None, names: ThreadNaming, is_new: bool
    ) -> tuple[TurnId, bool]:
        """Set or move the bookmark that the caller asked for; one made of the file's name only if it is free (rule R2,
        one name moves). Returns the turn of the tip, and whether the bookmark was set."""
        stored = turn_at(connection, self._space, tip)
        assert stored is not None
        if name is not None and names.bookmark is not None:
            before = find_bookmark(connection, self._space, name)
            is_named = before != tip
            if before is not None and not names.force and not leads_to(connection, self._space, before, tip):
                held = turn_at(connection, self._space, before)
                raise BookmarkTaken(stored_name(name), "" if held is None else held.id)
        elif name is None or stored.erased is not None:
            is_named = False  # a name that went with an erased thread does not come back
        else:
            is_named = may_name(connection, self._space, name, None if is_new else stored)
        if name is not None and is_named:
            set_bookmark(connection, self._space, name, stored)
        return stored.id, is_named

    def _keep_raw(self, file: BinaryIO, name: str) -> TurnId:
        """Store a file that does not parse as a document, unless it is stored. Returns the document's turn."""
        file.seek(0)
        # One byte more than allowed, to see whether there is more.
        data = file.read(self._limit_bytes + 1)
        if len(data) > self._limit_bytes:
            raise TooLarge("document", len(data), self._limit_bytes)
        system = {"document_name": Path(name).name, "file_size": len(data)}
        is_text = "text/plain" if _is_utf8(data) else "application/octet-stream"
        draft = make_document_draft(data, content_type=is_text, system=system)
        digest = digest_turn(draft.said, [])

        def work(connection: Connection, mint: Mint) -> TurnId:
            known = [each for each in turns_by_digest(connection, self._space, [digest]) if each.erased is None]
            return known[0].id if known else append(connection, self._space, [draft], mint).built[0].turn.id

        kept: TurnId = self._store(work)
        return kept


def detect_file(file: BinaryIO, name: str) -> str:
    """Return the format of an open file by its beginning: conversations of another program, ``oasst``, or a
    transcript's. The file's position is restored.

    Raises: InvalidTranscript (E-PARSE-DETECT); InvalidImport for an archive or a database of an unknown kind.
    """
    beginning = peek(file, DETECTED_BYTES)
    if is_utf16(beginning):
        raise InvalidTranscript("E-PARSE-ENCODING", None, UTF16, 1, 1)
    format = detect_conversations(file, beginning, name)
    if format is not None:
        return format
    if _JSON.match(beginning):
        if _TREE.search(beginning):
            return "oasst"
        raise InvalidTranscript("E-PARSE-DETECT", None, _UNKNOWN_JSON, 1, 1)
    if not beginning.strip():
        raise InvalidTranscript("E-PARSE-DETECT", None, "the file is empty", 1, 1)
    if len(beginning) == DETECTED_BYTES:
        beginning = beginning.decode(errors="ignore").encode()  # a character may be cut in two
    try:
        return detect(beginning)
    except InvalidTranscript as error:
        if error.code == "E-PARSE-DETECT":
            raise InvalidTranscript(error.code, None, _UNKNOWN, 1, 1) from None
        raise


def check_format(format: str) -> bool:
    """Return whether the format is a transcript's or an API's, not one of a reader. Raises: UnknownFormat."""
    is_own = is_format(format) or format in API_READERS
    if not is_own and format not in list_formats():
        raise UnknownFormat(str(format), (*list_formats(), *FORMATS, *API_READERS))
    return is_own


def check_file(path: str | os.PathLike[str], format: str | None, *, keep_raw: bool, **settings: Any) -> None:
    """Refuse a file as an import would, before there is a store: one that cannot be opened or is of no known format,
    and a transcript that does not parse, unless it is kept raw.

    Raises: UnknownFormat, InvalidImport, InvalidTranscript, InvalidInterchange, TooLarge.
    """
    with SourceFile(path, rewindable=True) as (file, name):
        detected = format or ("2.2" if settings["start_role"] else detect_file(file, name))
        if detected in READERS:
            check_fits(ImportSource(file, os.fspath(path), name, ImportNotes(name), PAYLOAD_LIMIT_BYTES), detected)
        elif check_format(detected) and not keep_raw:
            outline(file, name, detected, PAYLOAD_LIMIT_BYTES, **settings)


def find_thread(
    connection: Connection,
    space: int,
    digests: Sequence[bytes],
    beside: Beside,
    base: StoredTurn | None,
    first: int = 0,
) -> tuple[int, StoredTurn | None]:
    """Return how many messages of a thread, from that with the index ``first`` on, are already stored after ``base``,
    and the last one of them.

    Cost: one statement for every 64 messages that are.
    """

    def fits(index: int, stored: StoredTurn) -> bool:
        return (stored.system, stored.inherited) == beside(first + index)

    def fits_or_is_gone(index: int, stored: StoredTurn) -> bool:
        return stored.erased is not None or fits(index, stored)

    found = match_stored(connection, space, digests, base, fits)
    if found[0] < len(digests) and has_erasures(connection, space):
        # An erasure with ``meta`` takes what a turn keeps beside its message. Its words must not come back.
        found = max(found, match_stored(connection, space, digests, base, fits_or_is_gone), key=lambda each: each[0])
    return found


class ThreadPortion(NamedTuple):
    """Drafts that continue one another, the first of them ``before``; ``first`` is its index in the thread."""

    drafts: Sequence[Draft]
    digests: Sequence[bytes]
    first: int
    before: Place | None
    beside: Beside


def store_portion(connection: Connection, mint: Mint, space: int, part: ThreadPortion) -> tuple[Place, int]:
    """Store the new turns of a portion. Returns the place of its last turn, and how many were new.

    The portion is matched again inside the transaction that stores it: another import of the same file may run at the
    same time.
    """
    base = None if part.before is None else turn_at(connection, space, part.before)
    matched, tip = find_thread(connection, space, part.digests, part.beside, base, part.first)
    before = None if tip is None else tip.place
    new = part.drafts[matched:]
    linked = [
        replace(draft, continues=(index - 1,) if index else () if before is None else (before,))
        for index, draft in enumerate(new)
    ]
    if linked:
        before = append(connection, space, linked, mint, carries_names=False).built[-1].turn.place
    assert before is not None
    return before, len(linked)


def _carry(connection: Connection, space: int, name: bytes, base: StoredTurn | None, tip: Place) -> None:
    """Move the bookmark that the thread continued to the new tip, if it is still where it was (rule R5, a reply follows
    its request)."""
    if base is not None and base.place != tip and find_bookmark(connection, space, name) == base.place:
        stored = turn_at(connection, space, tip)
        assert stored is not None
        set_bookmark(connection, space, name, stored)


def _beside(outlined: Outline) -> Beside:
    """Return, for each index, what the turn keeps beside its message, as stored."""

    def encoded(index: int) -> tuple[bytes | None, bytes | None]:
        draft = outlined.draft(index, Message(role="user", content=()), 1024)
        return draft.system, draft.inherited

    # Only the first and the last message keep something of the transcript, so one answer serves all between them.
    middle = encoded(1) if len(outlined.digests) > 2 else None
    return lambda index: middle if middle and 0 < index < len(outlined.digests) - 1 else encoded(index)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _name_of(source: str) -> bytes | None:
    """Return the name of a file without its ending, if it can be a bookmark."""
    name = unicodedata.normalize("NFC", Path(source).stem)  # macOS may store accents apart from their letters
    is_file = not source.startswith("<")  # a stream has no name that anybody gave it
    return name.encode() if is_file and new_refusal(name) is None else None
