"""Views of a transcript: the text that an end user may see, and the messages that a model samples from.

One policy for all formats (OpenChatML 2.2 §4, §5, §11): the user's and the assistant's words on ``final``, and the
assistant's commentary that is meant as a preamble. Never a system, developer or tool message, reasoning, or a call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from headish.errors import HiddenMessage, InvalidArgument, shown
from headish.transcripts.shared.pairs import only_block, pair_replies
from headish.transcripts.shared.transcript import KINDS, Transcript, arguments_of, is_open, make_message, stop_of
from headish.values.blocks import ContentBlock, Mark, Text, Thinking, ToolDefinitions, ToolResult, ToolUse, join_texts
from headish.values.checks.doors import COUNT_LIMIT, Kind, an, door
from headish.values.messages import Message

INDEX = Kind(lambda value: isinstance(value, int) and abs(value) <= COUNT_LIMIT, "the number of a message")
_SPAN = re.compile(r"<\|start_(reflect|introspect|reason)\|>(?:(?!<\|end_\1\|>).)*+(?:<\|end_\1\|>)?", re.DOTALL)
POLICIES = ("ocm", "harmony")


def may_be_seen(role: str | None, channel: str | None, intent: str | None) -> bool:
    """Whether an end user may see the text of a message that is not a call."""
    if role == "assistant" and channel == "commentary":
        return intent == "preamble"
    return role in ("user", "assistant") and channel in (None, "final") and intent != "debug"


@door(transcript=an(Transcript))
def visible(transcript: Transcript) -> list[tuple[int, str]]:
    """``(index, text)`` of each message that an end user may see, in order; empty texts are left out."""
    seen = [(index, visible_text(message)) for index, message in enumerate(transcript.messages)]
    return [(index, text) for index, text in seen if text]


def visible_text(message: Message) -> str:
    """The text that an end user may see of a message. Reasoning that slipped into an answer is cut out (2.2 §7)."""
    given = message.attributes
    if isinstance(only_block(message), ToolUse) or not may_be_seen(message.role, given.channel, given.intent):
        return ""
    if message.role == "user":
        return join_texts(message.content)
    text = "".join(_unmarked(message.content))
    # What is between a start marker and its end marker, or the end of the text.
    return _SPAN.sub("", text) if "<|start_" in text else text


@door(transcript=an(Transcript), index=INDEX)
def show(transcript: Transcript, index: int, debug: bool = False) -> str:
    """The text of one message for an end user; with ``debug`` of any, calls and results too.

    Raises: HiddenMessage (E-PERM-VISIBILITY) where the user may see nothing of it; InvalidArgument for a wrong index.
    """
    if not 0 <= index < len(transcript.messages):
        raise InvalidArgument(f"there is no message {index}: the transcript has {len(transcript.messages)}")
    message = transcript.messages[index]
    if debug:
        return "\n".join(filter(None, (_debug_text(block) for block in message.content)))
    text = visible_text(message)
    if not text:
        raise HiddenMessage(index, message.role)
    return text


@door(transcript=an(Transcript))
def resample(transcript: Transcript, policy: str = "ocm") -> list[int]:
    """The indexes of the messages that the next sampling should see: reasoning of finished turns is dropped.

    ``ocm`` (2.2 §7, §12) drops the analysis of each turn that holds an answer and is closed by a later user message,
    with the calls on it and their replies. It keeps everything up to the turn's last unanswered call. ``harmony`` does
    what Harmony's renderer does: if the last answer is on ``final``, analysis before the first such answer is dropped.
    """
    if policy not in POLICIES:
        raise InvalidArgument(f"unknown policy {shown(policy)}: use {' or '.join(POLICIES)}")
    dropped = (
        _dropped_by_harmony(transcript.messages) if policy == "harmony" else _dropped_by_turns(transcript.messages)
    )
    return [index for index in range(len(transcript.messages)) if index not in dropped]


@door(transcript=an(Transcript))
def for_completion(transcript: Transcript, policy: str = "ocm") -> Transcript:
    """What the next sampling sees: the kept messages, all ended by ``end`` or ``call``, and an open answer.

    An answer that is open already, by its header or by a message without its end, is the one that goes on.
    """
    finished = _finished(transcript.messages) if policy == "ocm" else set()
    ended = tuple(_ended(transcript.messages[index], index in finished) for index in resample(transcript, policy))
    pending = transcript.pending
    if pending is None and not is_open(transcript):
        pending = make_message("assistant", ())
    return replace(transcript, messages=ended, pending=pending, eos=False)


def for_training(transcript: Transcript) -> Transcript:
    """The transcript for training a model: an answer at its end ends in ``return`` (2.0 §13, 2.2 §18)."""
    last = transcript.messages[-1:]
    if transcript.pending is not None or not any(_is_answer(message) and stop_of(message) == "end" for message in last):
        return transcript
    [message] = last
    trained = replace(message, attributes=replace(message.attributes, stop="return"))
    return replace(transcript, messages=(*transcript.messages[:-1], trained))


def _ended(message: Message, is_finished: bool) -> Message:
    """A message as the next sampling sees it; in a finished turn without reasoning beside its text."""
    # Persisted history has <|end|> in place of a sampled <|return|> (Harmony's docs/format.md).
    if message.attributes.stop == "return":
        message = replace(message, attributes=replace(message.attributes, stop=None))
    if is_finished and any(isinstance(block, Thinking) for block in message.content):
        return replace(message, content=tuple(each for each in message.content if not isinstance(each, Thinking)))
    return message


def _unmarked(blocks: Sequence[ContentBlock]) -> list[str]:
    """The texts outside thoughts. A start mark without its end hides all that follows."""
    hidden: str | None = None
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, Mark):
            kind = block.token.strip("<|>")
            if hidden is None and kind.removeprefix("start_") in KINDS and kind.startswith("start_"):
                # Only the end of this kind ends it: a start of another kind inside it changes nothing.
                hidden = kind.removeprefix("start_")
            elif kind == f"end_{hidden}":
                hidden = None
        elif isinstance(block, Text) and hidden is None:
            texts.append(block.text)
    return texts


def _debug_text(block: ContentBlock) -> str:
    if isinstance(block, ToolUse):
        return f"{block.name} {arguments_of(block)}"
    if isinstance(block, ToolResult):
        return join_texts(block.content)
    if isinstance(block, Text | Thinking):
        return block.text
    return block.raw if isinstance(block, ToolDefinitions) else block.token if isinstance(block, Mark) else ""


def _dropped_by_harmony(messages: Sequence[Message]) -> set[int]:
    answers = [index for index, message in enumerate(messages) if message.role == "assistant"]
    finals = [index for index in answers if messages[index].attributes.channel == "final"]
    if not answers or not finals or finals[-1] != answers[-1]:
        return set()
    return {index for index in range(finals[0]) if messages[index].attributes.channel == "analysis"}


def _dropped_by_turns(messages: Sequence[Message]) -> set[int]:
    dropped = {index for index in _finished(messages) if _is_reasoning(messages[index])}
    return dropped | {reply for reply, call in pair_replies(messages).items() if call in dropped}


def _finished(messages: Sequence[Message]) -> set[int]:
    """The messages of turns that are over. In a turn with unanswered calls, only those after the last of these."""
    answered = set(pair_replies(messages).values())
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    # What comes before the first user message is a turn, too.
    starts = [0, *users] if users[:1] != [0] else users
    finished: set[int] = set()
    # The last turn is not over: no user message follows it.
    for begin, end in pairwise(starts):
        turn = range(begin, end)
        if not any(_is_answer(messages[index]) for index in turn):
            continue
        unanswered = [
            index for index in turn if isinstance(only_block(messages[index]), ToolUse) and index not in answered
        ]
        kept_to = unanswered[-1] if unanswered else begin - 1
        finished |= {index for index in turn if index > kept_to}
    return finished


def _is_reasoning(message: Message) -> bool:
    """Whether a message is reasoning, by its channel or because it holds nothing else."""
    return message.attributes.channel == "analysis" or isinstance(only_block(message), Thinking)


def _is_answer(message: Message) -> bool:
    final = message.attributes.channel in (None, "final")
    return message.role == "assistant" and final and not isinstance(only_block(message), ToolUse)
