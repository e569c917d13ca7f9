"""An answer being read: blocks grow piece by piece, and at the end they are a reply. The same for all providers.

A provider's own reader is a subclass that gives each event its meaning. There is one parser: a whole response is read
as the short stream of ``events_of``. Nothing that a provider sends raises; unknown parts are kept and noted.
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
from headish.providers.shared.shapes import TextPlace, healed, paired
from headish.providers.shared.storable import storable
from headish.providers.shared.values import Delta, Reply, Usage
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolUse
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.messages import Note
from headish.values.shapes import name, present, record, text

UNKNOWN_LIMIT_BYTES = MAPPING_LIMIT_BYTES
"""How much of unknown events is kept with an answer: a turn holds no more. Later ones are only counted."""
ID_LIMIT = 64
"""The longest id that is made for a call."""
ERROR_LIMIT = 10_000
"""The number of characters of a provider's error message that are kept."""
CUT_SHORT = ("incomplete", "max_tokens", "model_context_window_exceeded", "refusal", "stop_sequence")
"""The reasons for which an answer may end in the middle of its last block."""


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
    """Pieces of the keys that are kept in ``opaque``, or in ``data``, by key; they are joined at the end."""
    is_text: bool = False
    """Whether the arguments of a call are text, not JSON."""
    odd: bool = False
    """Whether a piece of it was not understood, so that the block is not complete."""

    def delta(self, piece: object) -> list[Delta]:
        """Add a piece of text or arguments; return what to show of it. A value that is not text is ignored."""
        if not isinstance(piece, str) or not piece:
            return []
        self.pieces.append(piece)
        return [Delta(self.kind, piece, index=self.index)]

    def keep(self, given: Mapping[str, Any]) -> None:
        """Keep the keys of a piece that the reader does not understand, with the block; empty values are ignored."""
        for key, value in given.items():
            if says(value):
                self.beside.setdefault(key, []).append(value)

    def joined(self) -> dict[str, Any]:
        """The keys that were kept with the block, each joined from its pieces."""
        return {key: joined(pieces) for key, pieces in self.beside.items()}


class ReplyReader(ABC):
    """Reads one answer. ``stops`` maps the provider's words for why it ended to stop reasons."""

    provider: ClassVar[str]
    stops: ClassVar[Mapping[str, str]]
    words: ClassVar[tuple[TextPlace, ...]]
    """The places in an event that hold the model's words, which are never redacted."""
    odd_stop: ClassVar[str] = "error"
    """The stop reason for an unknown word of the provider."""

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
        """Whether the provider has announced the end of the answer."""
        self.refused = False
        self._broken = False
        self._asked_model, self._tool_names, self._seed = model, tool_names or {}, seed
        self._dialect = dialect
        self._unknown: list[Mapping[str, Any]] = []
        self._unknown_bytes = self._unknown_count = 0
        self._noted: set[str] = set()

    @abstractmethod
    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Take an event; return what to show of it."""

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
        """Blocks that follow the others, known only once the whole answer has come."""
        return ()

    def details_behind(self) -> dict[str, Any]:
        """Details that are known only once the whole answer has come."""
        return {}

    # For the providers' readers.

    def open(self, kind: str, **said: Any) -> OpenBlock:
        """Begin a block after the others."""
        block = OpenBlock(kind, len(self.blocks), **said)
        self.blocks.append(block)
        return block

    def current(self, kind: str, **said: Any) -> OpenBlock:
        """The last block if it is of this kind and still grows, else a new one."""
        last = self.blocks[-1] if self.blocks else None
        return last if last is not None and last.kind == kind and not last.finished else self.open(kind, **said)

    def open_call(self, called: object, id: object) -> tuple[OpenBlock, list[Delta]]:
        """Begin a call under the name that the thread knows; return it and what to show of it."""
        sent = text(called)
        block = self.open("tool_use", name=self._tool_names.get(sent, sent), id=name(id))
        block.id = block.id or self._made_id(block.index)
        return block, [Delta("tool_use", name=block.name, id=block.id, index=block.index)]

    def ignore(self, event: Mapping[str, Any]) -> list[Delta]:
        """Take an event that says nothing new; nothing to show."""
        return []

    def keep_unknown(self, event: Mapping[str, Any], what: str) -> list[Delta]:
        """Keep an unknown event, with a note; nothing to show."""
        if self._keep_event(event):
            self.note(f"{what[:200]} is kept beside the answer: nobody knows it")
        return []

    def keep_rest(self, event: Mapping[str, Any], known: KnownKeys) -> bool:
        """Keep what a table does not know of an event, with a note. Returns whether there was anything."""
        rest = rest_of(event, known)
        if rest is None:
            return False
        kind = event.get("type")
        kept = rest if kind is None else {"type": kind} | rest
        self.keep_unknown(kept, f"what an event{'' if kind is None else f' of type {kind!r}'} says besides")
        return True

    def keep_detail(self, key: str, value: Any, details: dict[str, Any] | None = None) -> None:
        """Keep a detail under its name. A different value that it replaces is kept among the unknown events."""
        details = self.details if details is None else details
        if key in details and details[key] != value:
            self._keep_event({key: details[key]})
        details[key] = value

    def note(self, what: str) -> None:
        """Add a note about the answer, once, however many events cause it."""
        if what not in self._noted:
            self._noted.add(what)
            self.notes.append(Note(what))

    def _keep_event(self, event: Mapping[str, Any]) -> bool:
        """Keep an unknown event if there is room; return whether there was."""
        # After one that does not fit, even small ones are only counted: what is kept is the beginning, without gaps.
        self._unknown_count += 1
        self._unknown_bytes += _size(event) if self._unknown_bytes <= UNKNOWN_LIMIT_BYTES else 0
        if self._unknown_bytes <= UNKNOWN_LIMIT_BYTES:
            self._unknown.append(event)
        return self._unknown_bytes <= UNKNOWN_LIMIT_BYTES

    def fail(self, error: object) -> list[Delta]:
        """Take the provider's error, which cuts the answer off. Its other keys go to the details."""
        problem = record(error)
        message = name(problem.get("message")) or name(error) or "the provider gave no reason"
        word = next((key for key in ("type", "code", "status") if problem.get(key)), None)
        self.error = present(type=None if word is None else str(problem[word])[:200], message=message[:ERROR_LIMIT])
        more = present(**{str(key): each for key, each in problem.items() if key not in ("message", word)})
        if more:
            self.keep_detail("error", more)
        return []

    def break_off(self, reason: str) -> None:
        """Record why the answer is cut off if the provider gave no error of its own."""
        self._broken = self.error is None
        if self._broken:
            self.fail({"message": reason})

    def count(self, **counts: int | None) -> None:
        """Set token counts; None leaves an earlier count unchanged."""
        self.usage |= {key: max(value, 0) for key, value in counts.items() if value is not None}

    def close_sound(self, block: OpenBlock) -> ContentBlock | None:
        """A recording from the pieces of its data. A reader that opens a block of kind ``sound`` must have it."""
        raise NotImplementedError

    # At the end.

    def _made_id(self, index: int) -> str:
        """An id for a call without one: from the answer's own id and the call's position (rule R20, made ids)."""
        # Not random: a recovered or re-read answer has to give the same ids.
        source = re.sub(r"[^a-zA-Z0-9_-]+", "_", self.id or self._seed)
        return "_".join(part for part in ("call", source[: ID_LIMIT - 16], str(index)) if part)

    def _close(self, block: OpenBlock) -> ContentBlock | None:
        own = block.opaque if block.kind == "provider" or not block.beside else block.opaque | block.joined()
        opaque = {self.provider: own} if own else {}
        content = "".join(block.pieces)
        content = content if content.isascii() else paired(content)
        if block.kind == "text":
            return Text(content, opaque=opaque) if content or opaque else None
        if block.kind == "thinking":
            thought = Thinking(content, signature=block.signature, provider=self.provider, opaque=opaque)
            return thought if content or block.signature is not None or opaque else None
        if block.kind == "sound":
            return self.close_sound(block)
        if block.kind == "provider":
            data = {**block.data, **block.joined()} if block.beside else block.data
            return ProviderBlock(self.provider, data, partial=block.odd or not (block.finished or self.done))
        return self._close_call(block, content, opaque)

    def _close_call(self, block: OpenBlock, said: str, opaque: dict[str, Any]) -> ToolUse:
        call: dict[str, Any] = {"type": "tool_use", "name": block.name, "id": block.id}
        cut = block.input is msgspec.UNSET and self._may_be_cut(block, said)
        if block.input is not msgspec.UNSET:
            call["input"] = block.input
        elif said.strip() or block.is_text or cut or not (block.finished or self.done):
            call["raw"] = said
        else:
            # A complete call without any arguments: some providers send no piece for an empty object.
            call["input"] = {}
        try:
            tool_use = read_block(call)
        except InvalidContent as error:
            self.note(f"a call held what cannot be kept and was replaced: {error.reason}")
            tool_use = read_block(_as_written(call))
        assert isinstance(tool_use, ToolUse)
        # No JSON object is the beginning of a longer one: if the arguments are an object, they are complete.
        partial = block.odd or cut or not (self.done or block.finished or isinstance(tool_use.input, Mapping))
        return msgspec.structs.replace(tool_use, partial=partial, opaque=opaque)

    def _may_be_cut(self, block: OpenBlock, said: str) -> bool:
        """Whether a limit may have ended the answer inside a call whose arguments do not show it: none came, or they
        are text. Half of a JSON object shows it."""
        unproven = block.is_text or not said.strip()
        return unproven and block is self.blocks[-1] and self.stops.get(self.stop or "") in CUT_SHORT

    def _stop_reason(self, content: tuple[ContentBlock, ...]) -> str:
        # A broken connection is not a failure of the provider: then the answer is merely incomplete.
        if self.error is not None and not self._broken:
            return "error"
        if not self.done:
            return "incomplete"
        if self.refused:
            return "refusal"  # OpenAI ends a refusal with an ordinary ``stop``
        reason = "end_turn" if self.stop is None else self.stops.get(self.stop, self.odd_stop)
        # Gemini and OpenAI's Responses have no word of their own for an end with calls.
        calls = any(isinstance(block, ToolUse) for block in content)
        return "tool_use" if reason == "end_turn" and calls else reason


def _size(event: Mapping[str, Any]) -> int:
    """The size of an event, roughly in bytes; one that nests too deep to be written counts as too large."""
    try:
        return len(repr(event))
    except RecursionError:
        return UNKNOWN_LIMIT_BYTES


def _as_written(call: dict[str, Any]) -> dict[str, Any]:
    """A call with its arguments as text only, for those that no turn can hold as a value (they nest too deep, say)."""
    input = call.pop("input", msgspec.UNSET)
    raw = call.get("raw", "") if input is msgspec.UNSET else _encode(input)
    return {key: healed(value) for key, value in {**call, "raw": raw}.items()}


def _encode(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError):
        return msgspec.json.encode(healed(value)).decode()
