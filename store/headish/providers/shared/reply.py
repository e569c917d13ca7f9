"""An answer being read: blocks grow piece by piece, and at the end they are a reply. The same for all providers.

A provider's own reader is a subclass that says what each event means. There is one parser: a whole response is read as
the short stream of ``events_of``. Nothing that a provider sends raises; what nobody knows is kept, and noted.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from headish.content.encoding import read_block
from headish.errors import InvalidContent
from headish.providers.shared.leftovers import KnownKeys, joined, rest_of, says
from headish.providers.shared.shapes import TextPlace, healed
from headish.providers.shared.storable import storable
from headish.providers.shared.values import Delta, Reply, Usage
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolUse
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.messages import Note
from headish.values.shapes import name, present, record, text

UNKNOWN_LIMIT_BYTES = MAPPING_LIMIT_BYTES
"""So much of events that nobody knows is kept with an answer: a turn holds no more. Behind that they are counted."""
ID_LIMIT = 64
"""The longest id that is made for a call."""
ERROR_LIMIT = 10_000
"""So many characters of a provider's error message are kept."""


@dataclass
class OpenBlock:
    """A block while it grows. ``kind`` is text, thinking, tool_use, sound (whose media type is its ``name``) or
    provider; ``data`` a provider's own block."""

    kind: str
    index: int
    pieces: list[str] = field(default_factory=list)
    name: str = ""
    id: str | None = None
    input: Any = msgspec.UNSET
    signature: str | None = None
    opaque: dict[str, Any] = field(default_factory=dict)
    data: Any = None
    finished: bool = False
    beside: dict[str, list[Any]] = field(default_factory=dict)
    """The pieces of what is kept beside the block, or in ``data``, by key; they are joined at the end."""
    is_text: bool = False
    """Whether the arguments of a call are text, not JSON."""
    odd: bool = False
    """Whether a piece of it was not understood: what there is of the block is not all of it."""

    def delta(self, piece: object) -> list[Delta]:
        """Add a piece of text or arguments; returns what to show of it. A value that is no text counts as no piece."""
        if not isinstance(piece, str) or not piece:
            return []
        self.pieces.append(piece)
        return [Delta(self.kind, piece, index=self.index)]

    def keep(self, given: Mapping[str, Any]) -> None:
        """Keep a piece of what stands beside the block; what says nothing is nothing."""
        for key, value in given.items():
            if says(value):
                self.beside.setdefault(key, []).append(value)

    def joined(self) -> dict[str, Any]:
        """What was kept beside the block."""
        return {key: joined(pieces) for key, pieces in self.beside.items()}


class ReplyReader(ABC):
    """Reads one answer. ``stops`` maps the provider's words for why it ended to stop reasons (PROVIDERS, §7)."""

    provider: ClassVar[str]
    stops: ClassVar[Mapping[str, str]]
    words: ClassVar[tuple[TextPlace, ...]]
    """Where the words of the model stand in an event."""
    odd_stop: ClassVar[str] = "error"
    """The stop reason of a word that nobody knows."""

    def __init__(
        self,
        *,
        model: str | None = None,
        tool_names: Mapping[str, str] | None = None,
        seed: str = "",
        dialect: str | None = None,
    ) -> None:
        self.blocks: list[OpenBlock] = []
        self.id: str | None = None
        self.model: str | None = None
        self.stop: str | None = None
        self.usage: dict[str, int] = {}
        self.error: dict[str, Any] | None = None
        self.details: dict[str, Any] = {}
        self.notes: list[Note] = []
        self.done = False
        """Whether the provider has said that the answer is at its end."""
        self.refused = False
        self._broken = False
        self._asked_model, self._tool_names, self._seed = model, tool_names or {}, seed
        self._dialect = dialect
        self._unknown: list[Mapping[str, Any]] = []
        self._unknown_bytes = self._unknown_count = 0
        self._noted: set[str] = set()

    @abstractmethod
    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Take an event; what to show of it."""

    @classmethod
    @abstractmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        """A whole response as the events of a stream."""

    @classmethod
    def is_response(cls, record: Mapping[str, Any]) -> bool:
        """Whether a record is a whole response, not an event of a stream."""
        return not isinstance(record.get("type"), str)

    def finish(self) -> Reply:
        """The reply, as far as it came."""
        blocks = [*self.blocks, *self.blocks_behind()]
        content = tuple(block for each in blocks if (block := self._close(each)) is not None)
        notes, more = list(self.notes), self._unknown_count - len(self._unknown)
        if more:
            notes.append(Note(f"{more} more unknown events are not kept"))
        details = self.details | self.details_behind()
        reply = Reply(
            provider=self.provider,
            content=content,
            model=self.model or self._asked_model,
            stop_reason=self._stop_reason(content),
            stop=self.stop,
            usage=Usage(**self.usage) if self.usage else None,
            id=self.id,
            incomplete=not self.done,
            error=self.error,
            details=details | ({"unknown_events": list(self._unknown)} if self._unknown else {}),
            notes=tuple(notes),
        )
        return storable(reply)

    def blocks_behind(self) -> Iterable[OpenBlock]:
        """Blocks that stand behind the others: what can be told only when all has come."""
        return ()

    def details_behind(self) -> dict[str, Any]:
        """Details that can be told only when all has come."""
        return {}

    # For the providers' readers.

    def open(self, kind: str, **said: Any) -> OpenBlock:
        """Begin a block at the end."""
        block = OpenBlock(kind, len(self.blocks), **said)
        self.blocks.append(block)
        return block

    def current(self, kind: str, **said: Any) -> OpenBlock:
        """The last block, if it is of this kind and still grows; else a new one."""
        last = self.blocks[-1] if self.blocks else None
        return last if last is not None and last.kind == kind and not last.finished else self.open(kind, **said)

    def open_call(self, called: object, id: object) -> tuple[OpenBlock, list[Delta]]:
        """Begin a call, under the name that the thread knows; and what to show of it."""
        sent = text(called)
        block = self.open("tool_use", name=self._tool_names.get(sent, sent), id=name(id))
        block.id = block.id or self._made_id(block.index)
        return block, [Delta("tool_use", name=block.name, id=block.id, index=block.index)]

    def keep_unknown(self, event: Mapping[str, Any], what: str) -> list[Delta]:
        """Keep an event that nobody knows yet, noted; nothing to show."""
        if self._keep_event(event):
            self.note(f"{what[:200]} is kept beside the answer: nobody knows it")
        return []

    def keep_rest(self, event: Mapping[str, Any], known: KnownKeys) -> bool:
        """Keep what a table does not know of an event, noted. Whether there was anything."""
        rest = rest_of(event, known)
        if rest is None:
            return False
        kind = event.get("type")
        said = rest if kind is None else {"type": kind} | rest
        self.keep_unknown(said, f"what an event{'' if kind is None else f' of type {kind!r}'} says besides")
        return True

    def keep_detail(self, key: str, value: Any, details: dict[str, Any] | None = None) -> None:
        """Keep a detail under its name. One that it takes the place of is kept among the events, in its order."""
        details = self.details if details is None else details
        if key in details and details[key] != value:
            self._keep_event({key: details[key]})
        details[key] = value

    def note(self, what: str) -> None:
        """Say something of the answer, once."""
        if what not in self._noted:
            self._noted.add(what)
            self.notes.append(Note(what))

    def _keep_event(self, event: Mapping[str, Any]) -> bool:
        """Whether there was room for it. What came behind something that had none is not kept either."""
        self._unknown_count += 1
        self._unknown_bytes += _size(event) if self._unknown_bytes <= UNKNOWN_LIMIT_BYTES else 0
        if self._unknown_bytes <= UNKNOWN_LIMIT_BYTES:
            self._unknown.append(event)
        return self._unknown_bytes <= UNKNOWN_LIMIT_BYTES

    def fail(self, error: object) -> list[Delta]:
        """Take the provider's error, which ends the answer before its end; what else it says goes to the details."""
        said = record(error)
        message = name(said.get("message")) or name(error) or "the provider gave no reason"
        word = next((key for key in ("type", "code", "status") if said.get(key)), None)
        self.error = present(type=None if word is None else str(said[word])[:200], message=message[:ERROR_LIMIT])
        more = present(**{str(key): each for key, each in said.items() if key not in ("message", word)})
        if more:
            self.keep_detail("error", more)
        return []

    def break_off(self, reason: str) -> None:
        """Say why the answer ends before its end, where it is not the provider who failed."""
        self._broken = self.error is None
        if self._broken:
            self.fail({"message": reason})

    def count(self, **counts: int | None) -> None:
        """Set token counts; what is not said leaves an earlier count as it was."""
        self.usage |= {key: max(value, 0) for key, value in counts.items() if value is not None}

    def close_sound(self, block: OpenBlock) -> ContentBlock | None:
        """A recording, from the pieces of its data, as only some providers give one."""
        raise NotImplementedError

    # At the end.

    def _made_id(self, index: int) -> str:
        """An id for a call without one: from the answer's own id and the call's position (rule R20, made ids)."""
        source = re.sub(r"[^a-zA-Z0-9_-]+", "_", self.id or self._seed)
        return "_".join(part for part in ("call", source[: ID_LIMIT - 16], str(index)) if part)

    def _close(self, block: OpenBlock) -> ContentBlock | None:
        own = block.opaque if block.kind == "provider" or not block.beside else block.opaque | block.joined()
        opaque = {self.provider: own} if own else {}
        said = "".join(block.pieces)
        if block.kind == "text":
            return Text(said, opaque=opaque) if said or opaque else None
        if block.kind == "thinking":
            thought = Thinking(said, signature=block.signature, provider=self.provider, opaque=opaque)
            return thought if said or block.signature is not None or opaque else None
        if block.kind == "sound":
            return self.close_sound(block)
        if block.kind == "provider":
            data = {**block.data, **block.joined()} if block.beside else block.data
            return ProviderBlock(self.provider, data, partial=block.odd or not (block.finished or self.done))
        return self._close_call(block, said, opaque)

    def _close_call(self, block: OpenBlock, said: str, opaque: dict[str, Any]) -> ToolUse:
        call: dict[str, Any] = {"type": "tool_use", "name": block.name, "id": block.id}
        if block.input is not msgspec.UNSET:
            call["input"] = block.input
        elif said.strip() or block.is_text or not (block.finished or self.done):
            call["raw"] = said
        else:
            # A whole call that says nothing of arguments has none.
            call["input"] = {}
        try:
            made = read_block(call)
        except InvalidContent as error:
            self.note(f"a call held what cannot be kept and was replaced: {error.reason}")
            made = read_block(_as_written(call))
        assert isinstance(made, ToolUse)
        # A JSON object is no beginning of a longer one: where the arguments are one, the call had all of them.
        partial = block.odd or not (self.done or block.finished or isinstance(made.input, Mapping))
        return msgspec.structs.replace(made, partial=partial, opaque=opaque)

    def _stop_reason(self, content: tuple[ContentBlock, ...]) -> str:
        if self.error is not None and not self._broken:
            return "error"
        if not self.done:
            return "incomplete"
        if self.refused:
            return "refusal"
        reason = "end_turn" if self.stop is None else self.stops.get(self.stop, self.odd_stop)
        calls = any(isinstance(block, ToolUse) for block in content)
        return "tool_use" if reason == "end_turn" and calls else reason


def _size(event: Mapping[str, Any]) -> int:
    """How much of an event there is to keep; one that nests too deep to be written is too large."""
    try:
        return len(repr(event))
    except RecursionError:
        return UNKNOWN_LIMIT_BYTES


def _as_written(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose arguments no turn can hold as a value (they nest too deep, say): with the text of them alone."""
    given = call.pop("input", msgspec.UNSET)
    raw = call.get("raw", "") if given is msgspec.UNSET else _encode(given)
    return {key: healed(value) for key, value in {**call, "raw": raw}.items()}


def _encode(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError):
        return msgspec.json.encode(healed(value)).decode()
