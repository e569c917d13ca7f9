"""A stored thread as a transcript: each message in its own form.

An imported turn keeps the name of its format; the first and the last also keep the parts around the messages (rule
R15, importing a transcript). A message that came from the target format is written as it was. One of another format is
converted, and one that a program or a provider made is written from the model. So an imported text stays a prefix of
what is written after a turn was added. Exceptions: ``[EOS]`` of OpenChatML 0.1 moves to the new end, what follows an
open header takes its place, and a bare sequence of 0.1 can only be continued by the text that it asks for.

No message passes through a third format. docs/adr/0016-each-message-in-its-own-form.md says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from headish.errors import UnknownFormat, Unrepresentable
from headish.transcripts.apis import anthropic, chat, responses
from headish.transcripts.apis.anthropic import to_anthropic
from headish.transcripts.apis.chat import to_chat
from headish.transcripts.apis.responses import to_responses
from headish.transcripts.conversion import convert_messages
from headish.transcripts.drops import DROPPABLE as DROPPABLE
from headish.transcripts.drops import give_up, merge_texts, name_all
from headish.transcripts.formats import ALIASES, FORMATS, known_format, write
from headish.transcripts.heads import define_tools, header_in, make_header
from headish.transcripts.interchange.neutral import from_json
from headish.transcripts.openchatml.flatten import flatten
from headish.transcripts.openchatml.forms import FORMS
from headish.transcripts.plain import write_plain
from headish.transcripts.rwkv.writer import TITLE
from headish.transcripts.shared.native import note_calls
from headish.transcripts.shared.transcript import UNREAD, Transcript, tightened
from headish.transcripts.views import for_completion, for_training, may_be_seen, visible_text
from headish.values.blocks import Mark, Text, erased_in
from headish.values.messages import NO_ATTRIBUTES, Attributes, Message
from headish.values.results.threads import TranscriptMessage

APIS: dict[str, Callable[[Transcript], Any]] = {
    "chat": to_chat, "responses": to_responses, "anthropic": to_anthropic,
}  # fmt: skip
"""The APIs whose messages a thread can be written as. They are made of the same messages as the RWKV template."""
_API_TITLES = {"chat": chat.TARGET, "responses": responses.TARGET, "anthropic": anthropic.TARGET}
TARGETS = (*FORMATS, *ALIASES, *APIS)
"""The formats in which a thread can be written."""


class Ending(Struct, frozen=True):
    """The use of a text. ``completes``: sampling, with old reasoning dropped by ``policy``. ``trains``: training.

    ``tight``: without the line break before ``<|im_end|>``, as the templates of ChatML models have it; only in messages
    that headish writes.
    """

    completes: bool = False
    policy: str = "ocm"
    trains: bool = False
    tight: bool = False


def write_thread(
    thread: Sequence[TranscriptMessage],
    format: str,
    *,
    drop: Collection[str] = (),
    ending: Ending = Ending(),
    options: Mapping[str, Any] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    **spelling: Any,
) -> str:
    """The text of a thread in a format, or the JSON text of an API's messages.

    ``options`` of the thread and definitions of ``tools`` are written if headish writes the head of the text and the
    format has a place for them. ``spelling``: ``bos`` and ``eos`` of OpenChatML 0.1, and ``strict``.
    Raises: Unrepresentable and its kinds, with all the words for ``drop`` that are needed; UnknownFormat;
    InvalidArgument.
    """
    if format not in TARGETS:
        raise UnknownFormat(format, TARGETS)
    form = "rwkv" if format in APIS else known_format(format)

    def work(words: Collection[str]) -> str:
        try:
            transcript = _settle(read_thread(thread, form, words, options or {}, tools, ending.tight), ending, words)
        except Unrepresentable as error:
            if format not in APIS or error.target != TITLE:
                raise
            # Name the API: the caller never asked for the template.
            raise type(error)(_API_TITLES[format], error.what, turn=error.turn, drop=error.drop) from None
        if format in APIS:
            return json.dumps(APIS[format](transcript), ensure_ascii=False, indent=2) + "\n"
        return write(transcript, form, **spelling)

    return name_all(work, drop)


def read_thread(
    thread: Sequence[TranscriptMessage],
    target: str,
    drop: Collection[str],
    options: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]],
    tight: bool = False,
) -> Transcript:
    """A thread as a transcript of the target format. Raises: Unrepresentable."""
    thread = _without_erased(thread, drop)
    _check_one(thread, drop)
    messages = _completed(
        [tightened(message) if tight and not is_own else message for message, is_own in _messages(thread, target, drop)]
    )
    # Imported from this very format: the header stays as it was, and definitions of tools come after these messages.
    own = len(list(takewhile(lambda kept: kept.system.get("format") == target, thread)))
    definitions = define_tools(target, tools)
    if definitions is not None and own < len(thread):
        # In a text of headish's own, they come after a system message at its beginning.
        messages.insert(own or int(messages[:1] != [] and messages[0].role == "system"), definitions)
    around = _around(thread) if thread else Transcript()
    is_own = bool(own)
    header, raw = around.header, around.header_raw
    if not is_own:
        header, raw = make_header(target, options) if header is None else header_in(target, header), None
    return replace(
        around, messages=tuple(messages), header=header, header_raw=raw, bos=around.bos and is_own,
        eos=around.eos and is_own and messages[-1].attributes.stop != "none",
    )  # fmt: skip


def _settle(transcript: Transcript, ending: Ending, drop: Collection[str]) -> Transcript:
    reduced = give_up(transcript, drop)
    if ending.completes:
        reduced = for_completion(reduced, ending.policy)
    return for_training(reduced) if ending.trains else reduced


def _messages(
    thread: Sequence[TranscriptMessage], target: str, drop: Collection[str]
) -> Iterator[tuple[Message, bool]]:
    """The messages as the target format has them, each with whether it came from that format."""
    call_names: dict[str, str] = {}
    for format, run in groupby(thread, lambda kept: kept.system.get("format")):
        messages = [kept.message for kept in run]
        if format == target:
            made: Iterable[Message] = messages
        elif format is not None:
            made = convert_messages(messages, format, target, drop)
        elif target in FORMS:
            made = flatten(messages, target, drop, call_names)
        else:
            made = write_plain(messages, target, drop, call_names)
        yield from ((message, format == target) for message in made)
        # A result in a later run may name its call by id alone.
        for message in messages:
            note_calls(message, call_names)


def _completed(messages: list[Message]) -> list[Message]:
    """Join a bare sequence that asks for its middle with the answer after it: that is text of the sequence (§5)."""
    if len(messages) != 2 or messages[0].role is not None:
        return messages
    bare, answer = messages
    marks = [block.token for block in bare.content if isinstance(block, Mark)]
    is_text = answer.role == "assistant" and len(answer.content) == 1 and isinstance(answer.content[0], Text)
    if marks[-1:] != ["<|fim_middle|>"] or not is_text or answer.attributes != bare.attributes:
        return messages
    return [replace(bare, content=merge_texts([*bare.content, *answer.content]))]


def for_people(thread: Sequence[TranscriptMessage]) -> list[Message]:
    """The messages that an end user may see of a thread, one text each. A message that was cut off stays unfinished."""
    seen = [(kept.message, visible_text(kept.message)) for kept in thread]
    return [_as_seen(message, text) if text else message for message, text in seen if text or _was_seen(message)]


def _was_seen(message: Message) -> bool:
    """Whether it is an erased message that an end user may have seen, so that it is not left out silently."""
    given = message.attributes
    return erased_in(message.content) is not None and may_be_seen(message.role, given.channel, given.intent)


def _as_seen(message: Message, text: str) -> Message:
    attributes = Attributes(stop="none") if message.attributes.stop == "none" else NO_ATTRIBUTES
    return Message(role=message.role, content=(Text(text),), attributes=attributes, turn=message.turn)


def _without_erased(thread: Sequence[TranscriptMessage], drop: Collection[str]) -> Sequence[TranscriptMessage]:
    """The thread without erased messages. Raises: Unrepresentable if there are some and ``drop`` does not name them."""
    erased = next((kept.message for kept in thread if erased_in(kept.message.content)), None)
    if erased is None:
        return thread
    if "erased" not in drop:
        raise Unrepresentable("a transcript", "a message that was erased", turn=erased.turn, drop="erased")
    return [kept for kept in thread if erased_in(kept.message.content) is None]


def _check_one(thread: Sequence[TranscriptMessage], drop: Collection[str]) -> None:
    """Refuse parts around imported messages that have no place in the middle of one transcript."""
    # A header of a version alone says nothing of the conversation, so it may go.
    header = thread[0].system.get("header") if thread else None
    for kept in thread[1:]:
        further = kept.system.get("header", header)
        if further != header and further.keys() != {"version"} and "header" not in drop:
            raise Unrepresentable("one transcript", "a second header", turn=kept.message.turn, drop="header")
    for kept in thread[:-1]:
        if "tail" in kept.system and "tail" not in drop:
            raise Unrepresentable("one transcript", UNREAD, turn=kept.message.turn, drop="tail")


def _around(thread: Sequence[TranscriptMessage]) -> Transcript:
    """The parts around the messages of an import, as a transcript without messages."""
    around = {key: value for key, value in thread[0].system.items() if key in ("header", "header_raw", "bos", "eos")}
    around |= {key: value for key, value in thread[-1].system.items() if key in ("pending", "tail")}
    return from_json({**around, "messages": []})
