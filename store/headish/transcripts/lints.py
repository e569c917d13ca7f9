"""Lints: codes for oddities of a transcript that headish can read. They refuse nothing.

Call and reply codes look at messages that are exactly one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headish.transcripts.openchatml.forms import FORMS, is_builtin
from headish.transcripts.openchatml.frames import broken_promises
from headish.transcripts.shared.jsontext import is_object
from headish.transcripts.shared.pairs import only_block, pair_replies
from headish.transcripts.shared.transcript import KINDS, Transcript, arguments_of, stop_of
from headish.transcripts.views import may_be_seen
from headish.values.blocks import Mark, Text, ToolResult, ToolUse, join_texts
from headish.values.checks.doors import an, door
from headish.values.messages import Message

_CONSTRAINTS = ("json", "text", "markdown")


@door(transcript=an(Transcript))
def lint(transcript: Transcript, format: str) -> list[str]:
    """The codes that apply to a transcript of a format, sorted, each once."""
    codes = set(_lint_header(transcript, format)) | set(_lint_pairs(transcript, format))
    codes |= set(_lint_promises(transcript, format))
    for message in transcript.messages:
        for check in _CHECKS:
            codes.update(check(message, format))
    return sorted(codes)


def _lint_header(transcript: Transcript, format: str) -> Iterator[str]:
    if format not in ("2.0", "2.2"):
        return
    if transcript.header is None:
        yield "W-HEADER-MISSING"
    elif transcript.header["version"] not in ("2", "2.0", "2.2"):
        yield "W-VERSION-UNKNOWN"


def _lint_promises(transcript: Transcript, format: str) -> Iterator[str]:
    """The codes of what a strict reader refuses."""
    if format in FORMS:
        for message in transcript.messages:
            for code, _ in broken_promises(message, transcript.header):
                yield code


def _lint_pairs(transcript: Transcript, format: str) -> Iterator[str]:
    messages = transcript.messages
    pairs = pair_replies(messages)
    ids: set[str] = set()
    for index, message in enumerate(messages):
        block = only_block(message)
        if isinstance(block, ToolUse):
            if block.id is None and format == "2.2":
                yield "W-CALL-ID-MISSING"
            if block.id in ids:
                yield "W-CALL-ID-DUPLICATE"
            ids |= set() if block.id is None else {block.id}
        elif isinstance(block, ToolResult) and index not in pairs:
            yield "W-REPLY-ORPHAN"
    if len(set(pairs.values())) < len(pairs):
        yield "W-REPLY-DUPLICATE"
    calls = {index for index, message in enumerate(messages) if isinstance(only_block(message), ToolUse)}
    if calls - set(pairs.values()):
        yield "W-CALL-UNANSWERED"


def _lint_call(message: Message, format: str) -> Iterator[str]:
    block, channel, stop = only_block(message), message.attributes.channel, stop_of(message)
    if not isinstance(block, ToolUse):
        if stop == "call":
            yield "W-CALL-STOP"
        return
    # python takes code instead of JSON, and built-in tools may be called on ``analysis``.
    if block.name.removeprefix("functions.") != "python" and not is_object(arguments_of(block)):
        yield "E-CALL-SCHEMA"
    if format in FORMS:
        if channel != "commentary" and not (is_builtin(block.name) and channel == "analysis"):
            yield "W-CALL-CHANNEL"
        if stop not in ("call", "none"):  # a call that was cut off has no terminator
            yield "W-CALL-STOP"


def _lint_reply(message: Message, format: str) -> Iterator[str]:
    block = only_block(message)
    if isinstance(block, ToolResult):
        if block.name is None and format == "2.2":
            yield "W-TOOL-NAME"
        if format == "rwkv" and not is_object(join_texts(block.content)):
            yield "W-PAYLOAD-NOT-OBJECT"


def _lint_attributes(message: Message, format: str) -> Iterator[str]:
    given, block = message.attributes, only_block(message)
    is_call = isinstance(block, ToolUse)
    is_answer = message.role == "assistant" and given.channel in (None, "final") and not is_call
    if stop_of(message) == "return" and not is_answer:
        yield "W-RETURN-PLACE"
    if given.constrain is not None and given.constrain.lower() not in _CONSTRAINTS:
        yield "W-CONSTRAIN-UNKNOWN"
    is_preamble = message.role == "assistant" and given.channel == "commentary" and not is_call
    if given.intent == "preamble" and not is_preamble:
        yield "W-INTENT-PLACE"


def _lint_thoughts(message: Message, format: str) -> Iterator[str]:
    given = message.attributes
    seen = message.role == "assistant" and may_be_seen(message.role, given.channel, given.intent)
    for block in message.content:
        if isinstance(block, Text) and seen and "<|start_" in block.text and _holds_marker(block.text):
            yield "W-COT-PLACE"
        if isinstance(block, Mark) and block.token.startswith(("<|start_", "<|end_")):
            yield "W-THOUGHT-UNBALANCED"
        if isinstance(block, Mark) and "function_call" in block.token and message.role == "assistant":
            yield "E-CALL-SCHEMA"


def _holds_marker(text: str) -> bool:
    return any(f"<|start_{kind}|>" in text for kind in KINDS)


_CHECKS: tuple[Callable[[Message, str], Iterator[str]], ...] = (
    _lint_call,
    _lint_reply,
    _lint_attributes,
    _lint_thoughts,
)
