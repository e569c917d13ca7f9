"""An export of cross.stream: a folder with ``frames.jsonl`` and ``cas/``, where gpt2099 keeps its turns.

A frame of the topic ``gpt.turn`` is a turn; its payload is a file in ``cas``, checked against its hash. It may continue
several turns. Its ``options`` are what a turn hands down. gpt2099 writes a name into the meta of questions only, never
into that of their answers: here an answer moves the name on. Frames of other topics (calls, chunks of streams, and the
providers with their keys) are left out.

The file is read twice: for the names, each of which goes to the last turn that has it, and for the turns, one by one.

Keys: ``cross-stream:ID``; the ids are SCRU128, and tell when a turn was said.

Source: cablehead/xs ``.export``, and the schema reference (specification 002), "Conversation Turn Schema".
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from headish.content.drafts import Draft, make_document_draft
from headish.content.facts import plausible_time
from headish.errors import HeadishError
from headish.imports.building import about_of
from headish.imports.cleaning import NotJson, decode_noted, without_secrets
from headish.imports.drafting import draft_node
from headish.imports.imported import ImportedConversation, ImportedTree, make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.json_records import RecordLine, read_records
from headish.values import shapes
from headish.values.caches import plausible_cache
from headish.values.checks.files import open_regular
from headish.values.ids import BELOW_TIME, as_turn_id
from headish.values.names import new_refusal

FORMAT = "cross-stream"
TOPIC = "gpt.turn"
CAS = "cas"
ROLES = ("user", "assistant", "system", "developer", "tool")
_HASH = re.compile(r"sha256-[A-Za-z0-9+/]{43}=")
_MAPPED = ("role", "continues", "head", "options", "inherited", "cache", "content_type", "type", "model", "stop_reason",
           "usage", "document_name", "original_path", "file_size")  # fmt: skip


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the turns of an export, one tree each, in the order of the file."""
    names = _FrameNames()
    begin = given.file.tell()
    # The first reading must not report and count what the second one will.
    quiet = given._replace(notes=type(given.notes)(given.name), progress=None)
    for line in read_records(quiet):
        if line.record.get("topic") == TOPIC:
            names.add(line.record)
    given.file.seek(begin)
    export = _FrameExport(given, names)
    for line in read_records(given):
        if line.record.get("topic") == TOPIC:
            yield from export.read(line)
        else:
            given.notes.leave_out(line.where, f"frame of topic {line.record.get('topic')}")


class _FrameNames:
    """The turn that each name points at in the end."""

    def __init__(self) -> None:
        self._name_of: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def add(self, frame: Mapping[str, Any]) -> None:
        """Take a frame. An answer, or a result, has the name of what it continues."""
        id, meta = str(frame.get("id")).lower(), _meta_of(frame)
        head = meta.get("head")
        parents = [self.id_of(each) for each in _continues(meta)]
        if not (isinstance(head, str) and head):
            head = next((name for each in reversed(parents) if (name := self._name_of.get(each))), None)
            # A name that has since moved on to another turn stays there.
            head = head if head is not None and self._last[head] in parents else None
        if head is not None:
            self._name_of[id], self._last[head] = head, id

    def id_of(self, continued: str) -> str:
        """Return the id of what a turn continues, which it gives as an id, or as the name that pointed there then."""
        return continued.lower() if as_turn_id(continued) else self._last.get(continued, continued)

    def name_of(self, id: str) -> str | None:
        """Return the name that moved to a turn when it was written."""
        return self._name_of.get(id)

    def names_of(self, id: str) -> list[str]:
        """Return the names that point at a turn in the end."""
        return [name for name, last in self._last.items() if last == id]


class _FrameExport:
    def __init__(self, given: ImportSource, names: _FrameNames) -> None:
        self._given, self._notes = given, given.notes
        self._folder = None if given.path is None else Path(given.path).parent / CAS
        self._named = names
        # The names as they were at each turn: ``continues`` may use one that has moved since.
        self._then = _FrameNames()
        self._known: set[str] = set()
        self._instead: dict[str, list[str]] = {}
        """For each frame that gave no turn, what it continues: what continues it continues that."""
        self._at: dict[str, tuple[Draft, tuple[bytes, ...]]] = {}
        """For each name, the last turn so far that has it: the name's own, if no later one can be read."""

    def read(self, line: RecordLine) -> Iterator[ImportedTree]:
        """Yield the tree of a turn; one for each of its names.

        For a frame that gives no turn but is the last one of a name, yields the turn again that had the name before.
        """
        frame, meta = line.record, _meta_of(line.record)
        id = as_turn_id(str(frame.get("id")))
        if id is None:
            self._notes.break_off(line.where, "a frame has an `id` of 25 letters and digits")
            return
        draft = self._draft(id, frame, meta, line.where)
        named = [self._then.id_of(each) for each in _continues(meta)]
        parents = list(dict.fromkeys(found for each in named for found in self._instead.get(each, [each])))
        self._then.add(frame)
        abouts = {name: self._about(name) for name in self._named.names_of(id)}
        if draft is None:
            self._instead[id] = parents
            for name in filter(self._at.__contains__, abouts):
                before, links = self._at[name]
                yield ImportedTree((before,), (links or None,), about=abouts[name], logged=True, goes_on=True)
            return
        self._known.add(id)
        for each in parents:
            if each not in self._known:
                self._notes.change(line.where, "what it continues is not in the export: it stands as a root there")
        links = tuple(f"{FORMAT}:{each}".encode() for each in parents if each in self._known)
        if (moved := self._then.name_of(id)) is not None:
            self._at[moved] = draft, links
        for index, about in enumerate(abouts.values() or [None]):
            # ``goes_on``: a turn that continues another, or has a second name, is not one more conversation.
            yield ImportedTree(
                (draft,), (links or None,), about=about, logged=True, goes_on=bool(links) or index > 0,
                untimed=int(draft.facts.said_at is None),
            )  # fmt: skip

    def _about(self, name: str) -> ImportedConversation | None:
        """Describe the conversation of a name, which is kept unchanged if a bookmark may have it."""
        about = about_of(SourceConversation(format=FORMAT, id=name, title=name, tags=[FORMAT]))
        return replace(about, names=(name, *about.names)) if new_refusal(name) is None else about

    def _draft(self, id: str, frame: Mapping[str, Any], meta: Mapping[str, Any], where: str) -> Draft | None:
        try:
            data = self._payload(frame.get("hash"))
        except (OSError, ValueError) as error:
            self._notes.break_off(where, f"its payload cannot be read: {error}")
            return None
        role = meta.get("role", "user")
        if role not in ROLES:
            self._notes.change(where, "an unknown role became the user's")
            role = "user"
        said_at, key = plausible_time(int(id, 36) >> BELOW_TIME), make_key(FORMAT, id)
        rest = {name: value for name, value in meta.items() if name not in _MAPPED and value is not None}
        inherited = meta.get("inherited", meta.get("options"))
        inherited, hid = without_secrets(inherited) if isinstance(inherited, Mapping) else (None, False)
        if hid:
            self._notes.change(where, "what looks like a key was hidden in options")
        if meta.get("type") == "document":
            return self._document(data, meta, {"role": role, "said_at": said_at, "key": key}, rest, where)
        node = SourceMessage(
            id=id, role=str(role), content=self._content(data, meta, where), said_at=said_at, key=key,
            meta=rest, inherited=inherited, cache=plausible_cache(meta.get("cache")), where=where,
            reply=_reply(meta) if role == "assistant" else None,
        )  # fmt: skip
        return draft_node(FORMAT, node, self._notes, self._given.limit_bytes)

    def _document(
        self, data: bytes, meta: Mapping[str, Any], turn: Mapping[str, Any], kept: Mapping[str, Any], where: str
    ) -> Draft | None:
        kind = meta.get("content_type")
        facts = {name: meta[name] for name in ("document_name", "original_path", "file_size") if name in meta}
        options = {**turn, "cache": plausible_cache(meta.get("cache")), "meta": {FORMAT: dict(kept)} if kept else None}
        if len(data) > self._given.limit_bytes:
            self._notes.break_off(where, "the document is larger than a turn may be")
            return None
        try:
            return make_document_draft(
                data, options, content_type=kind if isinstance(kind, str) else "application/octet-stream", system=facts
            )
        except HeadishError as error:
            self._notes.break_off(where, str(error))
            return None

    def _content(self, data: bytes, meta: Mapping[str, Any], where: str) -> Any:
        """Return the blocks of a JSON payload; older turns hold text."""
        if meta.get("content_type") != "application/json":
            return data.decode(errors="replace")
        try:
            return decode_noted(data, self._notes, where) if data else []
        except NotJson as error:
            self._notes.break_off(where, f"its payload cannot be read: {error}")
            return None

    def _payload(self, hash: Any) -> bytes:
        """Return the payload of a frame, empty for one without a hash. Raises: OSError, ValueError."""
        if hash is None:
            return b""
        if not isinstance(hash, str) or _HASH.fullmatch(hash) is None:
            raise ValueError("its hash is not a SHA-256 hash")
        if self._folder is None:
            raise ValueError(f"give the folder that holds frames.jsonl and {CAS}, not a stream")
        path = self._folder / b64encode(hash.encode()).decode()
        # A link in ``cas`` may lead to any file of the machine.
        if not path.resolve().is_relative_to(self._folder.parent.resolve()):
            raise ValueError("it leads out of the folder")
        with open_regular(path) as file:
            data = file.read(self._given.limit_bytes * 2 + 1)
        if hashlib.sha256(data).digest() != b64decode(hash.removeprefix("sha256-")):
            raise ValueError("it disagrees with its hash, or is too large")
        return data


def _meta_of(frame: Mapping[str, Any]) -> Mapping[str, Any]:
    return shapes.record(frame.get("meta"))


def _continues(meta: Mapping[str, Any]) -> Sequence[str]:
    continues = meta.get("continues")
    listed = continues if isinstance(continues, list) else [continues]
    return list(dict.fromkeys(each for each in listed if isinstance(each, str) and each))


def _reply(meta: Mapping[str, Any]) -> dict[str, Any]:
    reply = {name: meta[name] for name in ("model", "stop_reason") if isinstance(meta.get(name), str)}
    counts = make.counts(meta.get("usage"))
    return {**reply, **({"usage": counts} if counts else {})}
