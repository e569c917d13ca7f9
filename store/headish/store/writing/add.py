"""Verbs that store one turn. They check and encode their arguments before their transaction opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from headish.content.drafts import DocumentOptions, Draft, TurnOptions, make_document_draft, make_draft
from headish.content.encoding import Content
from headish.database.query import Connection
from headish.errors import InvalidArgument, TooLarge, shown
from headish.history.writing.append import Appended, Written, append, append_behind
from headish.history.writing.tips import NOTHING, End, Left, append_remembered, is_plain, remember
from headish.rows.counters import SpaceNumbers
from headish.rows.turns import StoredTurn
from headish.store.space import Space
from headish.values.checks.doors import LIST, check, is_path
from headish.values.checks.files import open_regular
from headish.values.ids import Mint
from headish.values.turns import Turn

if TYPE_CHECKING:
    from pathlib import Path

    from headish.rows.objects import Put

D = TypeVar("D", Draft, Sequence[Draft])


def add_turn(
    space: Space, content: Content, *, objects: Iterable[Mapping[str, Any]] = (), **turn: Unpack[TurnOptions]
) -> Turn:
    """Store one turn; it is durable when this returns.

    ``content`` is a string (one text block), a list of strings and blocks, or with ``json`` the JSON text of blocks. It
    may also be a message of an API's client: with ``form``, or detected by its shape (docs/how-to/api-messages.md).

    - ``role``: system, developer, user (the default), assistant or tool.
    - ``continues``: a headish or several, in order. ``respond``: continue the newest turn of the space.
    - ``bookmark``: set this name, or move it forward. Without it, a turn that continues a bookmark moves it along.
      A name that is elsewhere is refused; ``force`` moves it. ``moves=False``: no name moves along.
    - ``expect``: the id that the moving name must have pointed at, or ``ABSENT`` if there must be no such name yet.
    - ``inherited``: options for this turn and all that follow it, deep-merged with the shortcuts ``provider_ptr``,
      ``servers``, ``search`` and ``tool_mode``; ``None`` inside switches a value off.
    - ``cache``: ask providers to cache up to here. ``attributes``: the transcript's. ``meta``: the application's own.
    - ``said_at``: when it was said, if not now: a datetime with a zone, or Unix milliseconds, from 1970 to tomorrow.
    - ``key``: the name that another system has for the turn. If a turn of the space has it, that turn is returned: it
      must say the same, and nothing is stored or moved. ``find`` gives the turn of a key.
    - ``supersedes``, ``copy_of``: the id of a turn that this one takes the place of, or repeats.
    - ``objects``: mappings of the arguments of ``store.objects.put``. Turn and objects are one transaction: all are
      stored, or nothing. ``add_turns`` gives their revisions.

    Cost: eight statements, however long the thread and however large the store; one more for a key; four for the next
    turn of a name that this store moved last; two more for each object.
    Raises: InputError in its kinds, BookmarkTaken, BookmarkMoved, KeyTaken, QuotaExceeded, RecordChanged; nothing is
    stored then.
    """
    draft = make_draft(content, turn, space._payload_limit_bytes, space._author)
    if objects == ():
        return _add(space, draft)
    from headish.store.keeping.objects import read_puts  # late: few turns bring objects along

    check("objects", objects, LIST)
    return _add_once(space, draft, read_puts(objects, space._payload_limit_bytes))


def add_document(
    space: Space,
    document: bytes | str | os.PathLike[str],
    *,
    name: str | None = None,
    content_type: str | None = None,
    keep_path: bool = False,
    **turn: Unpack[DocumentOptions],
) -> Turn:
    """Store a document as a turn of its own: the raw bytes, from a path (text is a path) or as they are given.

    The name's extension tells the media type, else the content does. In a window it is one document block.
    ``keep_path``: keep the whole path, too (``meta.system["original_path"]``). Otherwise it is left out: it shows how
    this machine is arranged, and travels with the turn. The other arguments are those of ``add_turn``.
    Raises: TooLarge past ``payload_limit_bytes``; InvalidArgument where the path cannot be read; as ``add_turn``.
    """
    if not isinstance(keep_path, bool):
        raise InvalidArgument(f"keep_path is True or False, not {shown(keep_path)}")
    from headish.content.media import guess_media_type  # late: few turns are documents

    data, system = _read_document(document, name, keep_path, space._payload_limit_bytes)
    content_type = content_type or guess_media_type(data, system.get("document_name"))
    draft = make_document_draft(data, turn, content_type=content_type, system=system, author=space._author)
    return _add(space, draft)


def _add(space: Space, draft: Draft) -> Turn:
    end = is_plain(draft)
    if end is None and draft.facts.is_looked_up:
        return _add_once(space, draft)
    return store_draft(space, draft, end, partial(_append_one, space, draft, end))


def store_draft(space: Space, draft: Draft, end: End | None, careful: Callable[[Connection, Mint], Written]) -> Turn:
    """Store one draft that continues ``end``: the short way if this store remembers the end and the space has not
    changed since, else the ``careful`` way."""
    return space._as_turn(store_remembered(space, end, draft, append_remembered, careful).built[0])


def store_remembered(
    space: Space,
    end: End | None,
    drafts: D,
    quick: Callable[[int, D, Left, SpaceNumbers, Connection, Mint], Written | None],
    careful: Callable[[Connection, Mint], Written],
) -> Written:
    """Store drafts the ``quick`` way if this store remembers the ``end`` and the space has not changed since, else the
    ``careful`` way. Remember what was stored."""
    remembered = space._remembered or NOTHING
    left = remembered.names.get(end) if isinstance(end, bytes) else None if end is None else remembered.ends.get(end)
    written = space._store(
        careful, None if left is None else partial(quick, space._number, drafts, left, remembered.numbers)
    )
    # Remembered only after the commit. If other threads wrote meanwhile, the commit numbers show it.
    space._remembered = remember(space._remembered or NOTHING, written)
    return written


def _append_one(space: Space, draft: Draft, end: End | None, connection: Connection, mint: Mint) -> Written:
    if isinstance(end, str):
        written = append_behind(connection, space._number, draft, end, mint)
        if written is not None:
            return written
    return append(connection, space._number, [draft], mint)


def _add_once(space: Space, draft: Draft, puts: Sequence[Put] = ()) -> Turn:
    from headish.history.writing.keys import write_once  # late: most turns have no key, and bring no objects along
    from headish.rows.objects import put_object

    def work(connection: Connection, mint: Mint) -> Appended | StoredTurn:
        _, [stored] = write_once(connection, space._number, [draft], mint)
        for put in puts:
            put_object(connection, space._number, put)
        return stored

    return space._as_turn(space._store(work))


def _read_document(
    document: bytes | str | os.PathLike[str], name: str | None, keep_path: bool, limit_bytes: int
) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a document, and the meta that is kept with them."""
    if name is not None and not isinstance(name, str):
        raise InvalidArgument(f"the name of a document is text, not {shown(name)}")
    system: dict[str, Any] = {}
    if isinstance(document, bytes | bytearray | memoryview):
        data = bytes(document)
    elif not is_path(document):
        raise InvalidArgument(f"a document is bytes or a path, not {shown(document)}")
    else:
        from pathlib import Path  # late: a turn has no file

        path = Path(document)
        system = {"document_name": path.name, **({"original_path": str(path.absolute())} if keep_path else {})}
        data = _read_file(path, limit_bytes)
    if len(data) > limit_bytes:
        raise TooLarge("document", len(data), limit_bytes)
    return data, {**system, **({} if name is None else {"document_name": str.__str__(name)}), "file_size": len(data)}


def _read_file(path: Path, limit_bytes: int) -> bytes:
    try:
        with open_regular(path) as file:
            data = file.read(limit_bytes + 1)  # one byte shows that it is too large; no more, however long the file is
            # The error says how large the file is, although not all of it was read.
            size_bytes = max(len(data), os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise InvalidArgument(f"the document {str(path)!r} cannot be read: {error.strerror}") from None
    if len(data) > limit_bytes:
        raise TooLarge("document", size_bytes, limit_bytes)
    return data
