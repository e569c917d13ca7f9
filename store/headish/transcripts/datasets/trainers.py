"""Reduce a thread to what a trainer may see: its content, without anything that a provider or a reader added.

It leaves out what is hidden from anybody, reasoning unless it is asked for, what was erased or cut off, blocks and ids
of providers, and whatever looks like a key. The thread ends with an answer, because a trainer learns nothing from what
follows it. Calls get new ids in order, so that a result stays with its call. A note reports each thing left out.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from headish.content.forms.parts import is_of_form
from headish.content.media import NotDecodable, decode_text, media_type_of
from headish.content.secrecy.hiding import hide_secrets
from headish.values import shapes
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    ProviderBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UrlSource,
    erased_in,
    kind_of,
)
from headish.values.ids import TurnId
from headish.values.messages import NO_ATTRIBUTES, Attributes, Message, Note
from headish.values.results.threads import TranscriptMessage

WEIGHT = "weight"
"""The key of an answer's weight in OpenAI's rows: a trainer learns nothing from an answer of weight 0."""
CHAT_PROVIDER = "openai"
_MARKS = ("channel", "recipient", "intent", "content_type", "constrain", "extra")


def clean_thread(
    thread: Sequence[TranscriptMessage], hidden: Collection[TurnId], provider: str, *, reasoning: bool = False
) -> tuple[list[TranscriptMessage], list[Note]]:
    """A thread without what a trainer must not see, and a note for each thing that was left out.

    ``thread`` is what the model sees; ``hidden`` are its turns that people do not see. ``provider`` is that of the form
    in which the thread will be written. With ``reasoning``, reasoning stays, as that provider's.
    """
    cleaning = _Cleaning(provider, reasoning)
    cleaned = [made for kept in thread if (made := cleaning.message(kept.message, hidden)) is not None]
    paired = _without_unpaired(cleaned, cleaning.note)
    return [TranscriptMessage(message, {}) for message in _to_last_answer(paired, cleaning.note)], cleaning.notes


def weight_of(block: ContentBlock) -> Any:
    """The weight of a chat message, None if it has none."""
    data = block.data if isinstance(block, ProviderBlock) and block.provider == CHAT_PROVIDER else None
    return shapes.record(shapes.record(data).get("message")).get(WEIGHT)


class _Cleaning:
    """Cleans the messages of one thread, in order; holds the new ids of calls, and the notes."""

    def __init__(self, provider: str, reasoning: bool) -> None:
        self._provider, self._reasoning = provider, reasoning
        self._ids: dict[str, str] = {}
        self._calls = 0
        self._turn: str | None = None
        self.notes: list[Note] = []

    def note(self, what: str, turn: str | None = None) -> None:
        self.notes.append(Note(what, turn if turn is not None else self._turn))

    def message(self, message: Message, hidden: Collection[TurnId]) -> Message | None:
        """The cleaned message; None if nothing of it stays."""
        self._turn = message.turn
        reason = _why_not(message, hidden)
        if reason is not None:
            self.note(reason)
            return None
        content = tuple(self._blocks(message))
        if not any(not isinstance(block, ProviderBlock) for block in content):
            return None
        return replace(message, content=content, attributes=self._attributes(message.attributes), cache=False)

    def _attributes(self, given: Attributes) -> Attributes:
        if given is NO_ATTRIBUTES:
            return given
        for field in _MARKS:
            if getattr(given, field) and not (field == "channel" and given.channel in ("final", "analysis")):
                self.note(f"the {field} of a message")
        speaker = given.speaker if self._provider == CHAT_PROVIDER else None
        if given.speaker and speaker is None:
            self.note("the speaker of a message")
        return Attributes(speaker=speaker) if speaker else NO_ATTRIBUTES

    def _blocks(self, message: Message) -> Iterator[ContentBlock]:
        is_thought = message.role == "assistant" and message.attributes.channel == "analysis"
        for block in message.content:
            if is_thought and isinstance(block, Text):
                block = Thinking(block.text)
            cleaned = self._block(block)
            if cleaned is not None:
                yield cleaned

    def _block(self, block: ContentBlock) -> ContentBlock | None:
        clean = _CLEAN.get(type(block))
        if clean is not None:
            return clean(self, block)
        self.note(f"a block of type {kind_of(block)!r}")
        return None

    def _text(self, block: Text) -> Text:
        return Text(self._without_keys(block.text))

    def _thinking(self, block: Thinking) -> Thinking | None:
        if not self._reasoning or not block.text:
            self.note("reasoning")
            return None
        return Thinking(self._without_keys(block.text), provider=self._provider)

    def _document(self, block: Document) -> Document | None:
        source = block.source
        if not isinstance(source, Base64Source | UrlSource):
            self.note("a file that a provider keeps")
            return None
        if isinstance(source, UrlSource):
            return Document(UrlSource(self._without_keys(source.url), source.media_type), block.name)
        return Document(Base64Source(source.media_type, self._text_data(block, source.data)), block.name)

    def _text_data(self, block: Document, data: str) -> str:
        """The data of a text document without keys; any other data as it is."""
        if not media_type_of(block).startswith(("text/", "application/json", "application/xml", "application/yaml")):
            return data
        try:
            text = decode_text(block)
        except NotDecodable:
            return data
        cleaned = self._without_keys(text)
        # Without a change the bytes stay as they were: encoding them anew could spell them differently.
        return data if cleaned is text else b64encode(cleaned.encode()).decode()

    def _call(self, block: ToolUse) -> ToolUse | None:
        if block.partial:
            self.note("a call that was cut off")
            return None
        if block.opaque:
            self.note("what a provider keeps beside a call")
        id = self._new_id(block.id)
        if block.input is UNSET:
            return ToolUse(block.name, id, raw=self._without_keys(block.raw or ""))
        return ToolUse(block.name, id, input=self._without_keys(block.input))

    def _new_id(self, given: str | None) -> str | None:
        """A new id that reveals nothing. Some providers reuse ids in each answer: a result belongs to the last call."""
        if given is None:
            return None
        self._calls += 1
        self._ids[given] = f"call_{self._calls}"
        return self._ids[given]

    def _result(self, block: ToolResult) -> ToolResult:
        # No call has the id "", so ``_without_unpaired`` drops a result whose call is gone.
        id = None if block.tool_use_id is None else self._ids.get(block.tool_use_id, "")
        content = tuple(made for each in block.content if (made := self._block(each)) is not None)
        return ToolResult(id, block.name, content, block.is_error)

    def _provider_block(self, block: ProviderBlock) -> ProviderBlock | None:
        weight = weight_of(block)
        if weight is not None and self._provider == CHAT_PROVIDER:
            return ProviderBlock(CHAT_PROVIDER, {"message": {WEIGHT: weight}})
        if not is_of_form(block):
            self.note(f"a block of {block.provider}")
        return None

    def _without_keys(self, value: Any) -> Any:
        hidden = hide_secrets(value)
        if hidden is not value:
            self.note("what looks like a key")
        return hidden


_CLEAN: dict[type, Callable[[_Cleaning, Any], ContentBlock | None]] = {
    Text: _Cleaning._text,
    Thinking: _Cleaning._thinking,
    Document: _Cleaning._document,
    ToolUse: _Cleaning._call,
    ToolResult: _Cleaning._result,
    ProviderBlock: _Cleaning._provider_block,
}
"""How to clean each kind of block. Any other kind is left out."""


def _why_not(message: Message, hidden: Collection[TurnId]) -> str | None:
    """Why a message is left out; None if it stays."""
    if erased_in(message.content) is not None:
        return "a message that was erased"
    if message.attributes.hidden is not None or message.turn in hidden:
        return "a hidden message"
    if message.attributes.stop == "none":
        return "an answer that was cut off"
    return "a bare sequence, which has no role" if message.role is None else None


def _without_unpaired(messages: Sequence[Message], note: Callable[[str, str | None], None]) -> Iterator[Message]:
    """The messages without results whose call is gone, and without calls that nothing answers. Calls of the last
    message stay."""
    called = {block.id for message in messages for block in message.content if isinstance(block, ToolUse)}
    answered = {block.tool_use_id for each in messages for block in each.content if isinstance(block, ToolResult)}
    for message in messages:
        gone = [
            block
            for block in message.content
            if (isinstance(block, ToolResult) and block.tool_use_id is not None and block.tool_use_id not in called)
            or (isinstance(block, ToolUse) and block.id not in answered and message is not messages[-1] and block.id)
        ]
        for block in gone:
            what = "a result without its call" if isinstance(block, ToolResult) else "a call without a result"
            note(what, message.turn)
        content = tuple(block for block in message.content if not any(block is each for each in gone))
        if any(not isinstance(block, ProviderBlock) for block in content):
            yield message if not gone else replace(message, content=content)


def _to_last_answer(messages: Iterator[Message], note: Callable[[str, str | None], None]) -> list[Message]:
    listed = list(messages)
    # A trainer learns the answers. What follows the last one teaches nothing.
    while listed and listed[-1].role != "assistant":
        note("a message that nothing answers", listed.pop().turn)
    return listed
