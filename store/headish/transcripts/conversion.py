"""Convert a transcript from one format to another, checked: converted back, it must be the same.

The steps: give up what the caller names, flatten (one message per block), rename the tools, fill in what the target's
frames say and the source's do not, emit, and convert back. Every refusal on the way is E-CONVERT-LOSS. A transcript
without a header gets one in a format that has headers (rule R27, with a header).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from msgspec.structs import replace

from headish.errors import ConversionLoss, Unrepresentable
from headish.transcripts.drops import give_up, merge_texts, name_all
from headish.transcripts.formats import known_format, write
from headish.transcripts.heads import header_in, make_header
from headish.transcripts.openchatml.forms import FORMS, FUNCTIONS, is_builtin, qualified
from headish.transcripts.plain import plain_name
from headish.transcripts.shared.jsontext import is_object, says_error, says_more
from headish.transcripts.shared.transcript import UNREAD, Transcript, arguments_of, make_call, tightened, usual_stop
from headish.values.blocks import ContentBlock, Mark, Text, Thinking, ToolDefinitions, ToolResult, ToolUse, join_texts
from headish.values.checks.doors import TEXT, an, door
from headish.values.messages import Attributes, Message

T = TypeVar("T")
_OWN: dict[type, tuple[str, str]] = {Mark: ("mark", "a mark"), ToolDefinitions: ("tools", "a list of tools")}
"""Blocks that only OpenChatML 0.1 has: the word of ``drop`` that gives each up, and what a refusal calls it."""


@door(transcript=an(Transcript), target=TEXT)
def convert(
    transcript: Transcript, source: str, target: str, *, drop: Collection[str] = (), tight: bool = False
) -> Transcript:
    """Convert a transcript to the target format.

    ``drop`` names what is given up (``header``, ``call_id``, …). Only layout, ``return``, an error flag that
    is false, the grouping of blocks into messages, and the version in the header may change.
    ``tight``: to OpenChatML 0.1 from another format, without the line break before ``<|im_end|>``.
    Raises: ConversionLoss (E-CONVERT-LOSS) with all the words for ``drop`` that are needed; UnknownFormat,
    InvalidArgument.
    """
    source, target = known_format(source), known_format(target)

    def work(words: Collection[str]) -> Transcript:
        # Not strict: a body that breaks its constraint loses nothing here. Who writes the text decides about it.
        converted, _ = _checked(transcript, source, target, lambda made: write(made, target, strict=False), words)
        if tight and source != target == "v0.1":
            converted = replace(converted, messages=tuple(map(tightened, converted.messages)))
        if source == target or converted.header is not None or "header" in words:
            return replace(converted, format=target)
        return replace(converted, header=make_header(target, {}), format=target)

    return name_all(work, drop)


def convert_messages(messages: Sequence[Message], source: str, target: str, drop: Collection[str]) -> list[Message]:
    """Convert messages of one format to another, checked; the target's writer is not tried.

    Raises: ConversionLoss (E-CONVERT-LOSS).
    """
    converted, _ = _checked(Transcript(messages=tuple(messages)), source, target, lambda _: None, drop)
    return list(converted.messages)


@door(transcript=an(Transcript))
def convert_to_api(
    transcript: Transcript, source: str, write: Callable[[Transcript], T], *, drop: Collection[str] = ()
) -> T:
    """What ``to_chat``, ``to_responses`` or ``to_anthropic`` makes of a transcript of another format.

    Raises: ConversionLoss (E-CONVERT-LOSS); UnknownFormat, InvalidArgument.
    """
    format = known_format(source)
    return name_all(lambda words: _checked(transcript, format, "an API", write, words)[1], drop)


def _checked(
    transcript: Transcript, source: str, target: str, write: Callable[[Transcript], T], drop: Collection[str]
) -> tuple[Transcript, T]:
    """The converted transcript and what ``write`` makes of it, if converting back gives the same."""
    reduced = give_up(transcript, drop)
    try:
        converted = _convert(reduced, source, target)
        result = write(converted)
        # The rules of each format are too many to predict what a conversion loses, so headish converts back and
        # compares.
        back = give_up(_convert(converted, target, source), drop)
    except ConversionLoss:  # a kind of Unrepresentable, and already what a caller expects
        raise
    except Unrepresentable as error:
        raise ConversionLoss(error.target, error.what, turn=error.turn, drop=error.drop) from None
    lost = None if source == target else _difference(_compared(reduced), _compared(back))
    if lost is not None:
        raise ConversionLoss(target, lost)
    return converted, result


def _convert(transcript: Transcript, source: str, target: str) -> Transcript:
    if transcript.tail is not None:
        raise ConversionLoss(target, UNREAD, drop="tail")
    if source == target:
        return transcript
    messages = list(_flatten(transcript.messages))
    # Formats with frames say the same things in them, and so do those without.
    if (source in FORMS) != (target in FORMS):
        messages = list(_into_frames(messages, target) if target in FORMS else _out_of_frames(messages))
    header = None if transcript.header is None else header_in(target, transcript.header)
    return replace(transcript, messages=tuple(messages), header=header, header_raw=None, bos=False, eos=False)


def _flatten(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield one message per block, with plain texts. Refuses blocks that only one format has."""
    for message in messages:
        if message.role is None:
            raise ConversionLoss("another format", "a bare sequence", turn=message.turn)
        for kind, (word, what) in _OWN.items():
            if any(isinstance(block, kind) for block in message.content):
                raise ConversionLoss("another format", what, turn=message.turn, drop=word)
        blocks = merge_texts(message.content)
        attributes = replace(message.attributes, tight=False, stop=None)
        for block in blocks[:-1]:
            yield replace(message, content=(_less_layout(block),), attributes=attributes)
        last = replace(message, content=tuple(_less_layout(block) for block in blocks[-1:]))
        stop = message.attributes.stop
        yield replace(last, attributes=replace(attributes, stop=None if stop == usual_stop(last) else stop))


def _less_layout(block: ContentBlock) -> ContentBlock:
    if isinstance(block, ToolUse | ToolResult):
        block = replace(block, closed=False)
    if isinstance(block, ToolUse):
        return replace(block, envelope=_further_keys(block))
    if isinstance(block, ToolResult):
        return replace(block, envelope=_further_keys(block), content=merge_texts(block.content))
    return block


def _further_keys(block: ToolUse | ToolResult) -> str | None:
    return block.envelope if says_more(block) else None


def _into_frames(messages: Sequence[Message], target: str) -> Iterator[Message]:
    """Fill in what a frame says and other formats leave unsaid: channels, recipients and constraints."""
    for message, following in zip_longest(messages, messages[1:]):
        block = message.content[0] if message.content else Text("")
        given, filled = message.attributes, {}
        if isinstance(block, ToolUse):
            constrains = FORMS[target].constrains and is_object(arguments_of(block))
            filled = {"channel": "commentary", "constrain": "json" if constrains else None}
            block = make_call(qualified(block.name), arguments_of(block), id=block.id, envelope=block.envelope)
        elif isinstance(block, ToolResult):
            filled = {"channel": "commentary", "recipient": "assistant"}
            failed = says_error(join_texts(block.content)) or block.is_error
            name = None if block.name is None else qualified(block.name)
            block = replace(block, name=name, is_error=failed or None)
        elif isinstance(block, Thinking):
            filled = {"channel": "analysis"}
        elif message.role == "assistant":
            filled = _fill_answer(following, target)
        elif message.role == "tool":
            raise ConversionLoss(target, "plain text of a tool", turn=message.turn)
        yield _changed(message, block, replace(given, **filled))


def _fill_answer(following: Message | None, target: str) -> dict[str, str | None]:
    """An answer goes to ``final``; directly before a call, it is the plan for the call."""
    before_call = following is not None and bool(following.content) and isinstance(following.content[0], ToolUse)
    # 2.0 has no intent that would show a plan on ``commentary`` to people.
    if not before_call or target == "2.0":
        return {"channel": "final"}
    return {"channel": "commentary", "intent": "preamble" if target == "2.2" else None}


def _out_of_frames(messages: Sequence[Message]) -> Iterator[Message]:
    """Leave out what only frames say. Converting back checks later that nothing was lost."""
    for message in messages:
        block = message.content[0] if message.content else Text("")
        intent = None if message.attributes.intent == "preamble" else message.attributes.intent
        stop = None if message.attributes.stop == "return" else message.attributes.stop
        less = replace(message.attributes, channel=None, constrain=None, intent=intent, stop=stop)
        if isinstance(block, ToolUse):
            name = _without_functions(block.name, message)
            block = make_call(name, arguments_of(block), id=block.id, envelope=block.envelope)
        elif isinstance(block, ToolResult):
            less = replace(less, recipient=None if less.recipient == "assistant" else less.recipient)
            block = replace(block, name=None if block.name is None else _without_functions(block.name, message))
        yield _changed(message, block, less)


def _changed(message: Message, block: ContentBlock, attributes: Attributes) -> Message:
    content = () if isinstance(block, Text) and not block.text else (block,)
    return replace(message, content=content, attributes=attributes)


def _without_functions(name: str, message: Message) -> str:
    if is_builtin(name):
        return name
    if not name.startswith(FUNCTIONS):
        raise ConversionLoss("another format", f"a tool outside functions: {name[:80]!r}", turn=message.turn)
    return plain_name(name)


def _compared(transcript: Transcript) -> list[object]:
    """The parts that a conversion must keep: the header and the open message, then one part per message."""
    # The version names the format, which is meant to change. So a header of a version alone equals no header.
    header = {key: value for key, value in (transcript.header or {}).items() if key != "version"}
    parts: list[object] = [(header, transcript.pending)]
    for message in _flatten(transcript.messages):
        given = message.attributes
        # `return` and `final` are only other ways to write the usual end and the usual channel.
        stop = None if given.stop == "return" else given.stop
        channel = None if given.channel == "final" else given.channel
        blocks = tuple(
            replace(block, is_error=block.is_error or None) if isinstance(block, ToolResult) else block
            for block in message.content
        )
        attributes = replace(given, stop=stop, channel=channel)
        parts.append((message.role, attributes, blocks))
    return parts


def _difference(before: list[object], after: list[object]) -> str | None:
    """Name the first part that would not come back; None if all do."""
    for index, (one, other) in enumerate(zip_longest(before, after)):
        if one != other:
            what = "the header or the open message" if index == 0 else f"message {index - 1}"
            return f"{what} so that it comes back as it was"
    return None
