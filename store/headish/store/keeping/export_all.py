"""Verbs that write many conversations: one by one on demand, or a file for each in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict, Unpack

from headish.content.forms.table import FORMS
from headish.errors import (
    CorruptTurn,
    DatabaseUnavailable,
    FileTaken,
    InvalidArgument,
    UnknownBookmark,
    UnknownFormat,
    Unrepresentable,
    shown,
)
from headish.history.reading.trees import read_conversation_tree
from headish.store.backups.places import whole_file
from headish.store.keeping.bookmarks import Bookmarks
from headish.store.keeping.conversations import BEHIND_NAMES, Conversations
from headish.store.reading.export import NO_ANSWER, export
from headish.store.reading.pages import render
from headish.store.reading.read import get
from headish.store.space import Space
from headish.transcripts.datasets.rows import ROWS, as_line
from headish.transcripts.threads import TARGETS
from headish.values.checks.doors import door
from headish.values.ids import as_turn_id
from headish.values.messages import Note
from headish.values.results.exports import Exported, Folder

PAGES = {"html": ".html", "markdown": ".md", "text": ".txt"}
"""Formats for people, and how their files end; those of transcripts end in ``.txt`` as well."""
JSON = frozenset((*FORMS, *ROWS))
_TAKEN = {
    True: {"branches", "debug"},
    False: {"drop", "as_user", "for_completion", "for_training", "with_reasoning", "policy", "tight", "raw", "bos",
            "eos", "strict"},
}  # fmt: skip
"""The settings that pages take (True), and those that everything else takes (False)."""
_PAGE = 200
"""How many conversations are looked up at a time."""
_NAME_CHARACTERS = 80
_UNSAFE = re.compile(r"[^\w.+=,@-]+|\.{2,}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.I)
"""Names that are devices on Windows, whatever follows them."""


class ExportOptions(TypedDict, total=False):
    """How each conversation is written: the settings of ``export``, or those of ``render`` for pages."""

    drop: Collection[str]
    as_user: bool
    for_completion: bool
    for_training: bool
    with_reasoning: bool
    policy: str
    tight: bool
    raw: bool
    bos: str
    eos: str
    strict: bool
    branches: bool
    debug: bool


@door(ExportOptions)
def export_each(
    space: Space, headishes: Iterable[str] | None = None, format: str = "chat", **settings: Unpack[ExportOptions]
) -> Iterator[Exported]:
    """Export conversations one by one: those of the headishes, or all of the space, each as the thread of its tip.

    ``format`` and ``settings`` are those of ``export``, or of ``render`` for ``html``, ``markdown`` and ``text``. JSON
    comes as one line each. Bookmarks come first, by name, then conversations without one, the newest first. A
    conversation that the format cannot carry, or that is damaged, comes with ``refused`` and without ``text``, and the
    others follow. A conversation without an answer that a trainer may see has neither. ``branches``, for JSON: each
    conversation is followed by its other branches, each once, under the ids of their last turns.
    Cost: memory holds one thread, with ``branches`` one tree; each is read in a transaction of its own.
    Raises: UnknownFormat, InvalidArgument; for ``headishes`` also what ``export`` raises for a headish.
    """
    if format not in TARGETS and format not in JSON and format not in PAGES:
        raise UnknownFormat(format, tuple(dict.fromkeys((*TARGETS, *JSON, *PAGES))))
    splits = format in JSON and settings.pop("branches", False)
    unknown = sorted(settings.keys() - _TAKEN[format in PAGES])
    if unknown:
        raise InvalidArgument(f"an export as {format} takes no {shown(unknown[0])}")
    subjects = _all(space) if headishes is None else map(_asked, headishes)
    subjects = _with_branches(space, subjects, all_come=headishes is None) if splits else subjects
    return _export_each(space, subjects, format, dict(settings))


@door(ExportOptions)
def export_folder(
    space: Space,
    folder: str | os.PathLike[str],
    headishes: Iterable[str] | None = None,
    format: str = "chat",
    *,
    overwrite: bool = False,
    told: Callable[[Exported, str], None] | None = None,
    **settings: Unpack[ExportOptions],
) -> Folder:
    """Export conversations as ``export_each`` does, one file each, into a folder that is made if it is missing.

    A file is named after its conversation, in characters that every file system takes. One with other bytes is replaced
    only with ``overwrite``; else the conversation is refused with FileTaken, and the others follow. A file gets its
    name when it is whole. ``told`` is called for each conversation with the path of its file.
    Raises: as ``export_each``; DatabaseUnavailable where the folder cannot be written.
    """
    exported = export_each(space, headishes, format, **settings)
    base = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    try:
        os.makedirs(base, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailable(base, f"it cannot be written ({error.strerror})") from error
    result = Folder(base)
    for each in exported:
        path = os.path.join(base, file_name(each.subject, each.title, ending_of(format)))
        if each.text:
            try:
                result = result.plus(written=write_file(path, each.text.encode(), overwrite))
            except FileTaken as error:
                each = each.refuse(error)
        result = result.plus(refused=each.refused is not None, notes=len(each.notes))
        if told is not None:
            told(each, path)
    return result


def file_name(subject: str, title: str, ending: str) -> str:
    """Make the file name of a conversation: its title if every file system takes it and it is the subject, too; else
    the part of it that can stay, and eight digits of the subject's hash, so that no two conversations share a file."""
    stem = _UNSAFE.sub("-", unicodedata.normalize("NFC", title)).lower()[:_NAME_CHARACTERS].strip("-.")
    # File systems limit the bytes of a name, and one character may take four.
    while len(stem.encode()) > 2 * _NAME_CHARACTERS:
        stem = stem[:-1]
    stem = "conversation" if not stem or _DEVICES.fullmatch(stem) else stem
    if stem != subject:
        stem += "-" + hashlib.sha256(subject.encode(errors="surrogatepass")).hexdigest()[:8]
    return stem + ending


def ending_of(format: str) -> str:
    """The ending of the files of a format."""
    return PAGES.get(format, ".json" if format in JSON else ".txt")


def _asked(headish: object) -> tuple[str, str, str]:
    if not isinstance(headish, str):
        raise InvalidArgument(f"headishes are texts, one for each conversation, not {shown(headish)}")
    return headish, headish, headish


def _all(space: Space) -> Iterator[tuple[str, str, str]]:
    """``(subject, title, headish)`` of each conversation. By name, because a list by recency would lose names that move
    meanwhile."""
    after: str | None = None
    while True:
        try:
            page = Bookmarks(space).list(limit=_PAGE, after=after)
        except UnknownBookmark:
            return
        yield from ((each.name, each.name, each.turn) for each in page)
        if len(page) < _PAGE:
            break
        after = page[-1].name
    cursor: str | None = BEHIND_NAMES
    while cursor is not None:
        nameless = Conversations(space).list(limit=_PAGE, after=cursor, archived=None)
        for entry in nameless.entries:
            conversation = entry.conversation
            yield conversation.subject, entry.title, conversation.turn
        cursor = nameless.after


def _with_branches(
    space: Space, subjects: Iterable[tuple[str, str, str]], *, all_come: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield conversations, each followed by those of its branches that were not yielded yet. With ``all_come``,
    branches with a name of their own are left out here: they come as conversations of their own."""
    met: set[str] = set()
    for subject, title, headish in subjects:
        tip = get(space, headish).id
        if all_come and as_turn_id(subject) is not None and tip in met:
            continue  # a branch of a conversation that came before
        met.add(tip)
        yield subject, title, headish
        turns = space._read_at(
            tip, lambda connection, end: read_conversation_tree(connection, space._number, end.place)
        )
        for turn in turns:
            if not turn.children and turn.id not in met and not (all_come and turn.bookmarks):
                met.add(turn.id)
                yield turn.id, turn.id, turn.id


def _export_each(
    space: Space, subjects: Iterable[tuple[str, str, str]], format: str, settings: dict[str, Any]
) -> Iterator[Exported]:
    for subject, title, headish in subjects:
        notes: list[Note] = []
        try:
            text = _text(space, headish, format, {**settings, "told": notes.append})
        except (Unrepresentable, CorruptTurn) as error:
            if isinstance(error, Unrepresentable) and error.what == NO_ANSWER:
                yield Exported(subject, title, "", (*notes, Note(NO_ANSWER)))
            else:
                yield Exported(subject, title, "", tuple(notes), error)
        else:
            yield Exported(subject, title, text, tuple(notes))


def _text(space: Space, headish: str, format: str, settings: dict[str, Any]) -> str:
    if format in PAGES:
        return render(space, headish, format, **{key: value for key, value in settings.items() if key != "told"})
    text = export(space, headish, format, **settings)
    return as_line(json.loads(text)) if format in JSON else text


def write_file(path: str, data: bytes, overwrite: bool) -> bool:
    """Write a file unless it has these bytes already; return whether it was written.

    Raises: FileTaken, DatabaseUnavailable.
    """
    with suppress(OSError):
        if not os.path.islink(path) and os.path.getsize(path) == len(data) and Path(path).read_bytes() == data:
            return False
    if not overwrite or not os.path.lexists(path):
        # As the umask allows, like other files of the user: a backup alone is private from the start.
        with whole_file(path, 0o666) as part:
            Path(part).write_bytes(data)
        return True
    # `whole_file` refuses a name that is taken, so the new file is made beside the old one and replaces it at once.
    beside = f"{path}.new-{os.urandom(4).hex()}"
    with whole_file(beside, 0o666) as part:
        Path(part).write_bytes(data)
    try:
        os.replace(beside, path)  # a link is replaced, not what it leads to
    except OSError as error:
        with suppress(OSError):
            os.unlink(beside)
        raise DatabaseUnavailable(path, f"it cannot be written ({error.strerror})") from error
    return True
