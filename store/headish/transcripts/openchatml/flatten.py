"""Split a program's messages of many blocks into messages of one block each, which frames of OpenChatML 2.x can carry.

The channel of a frame decides who may see its text, so reasoning never shares a frame with the answer. What a frame
says and a program leaves unsaid is filled in as the form wants it: channels, the recipient of a result and, if the form
has them, the constraint of a call and the intent of the plan before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from headish.transcripts.openchatml.forms import FORMS, PEOPLE, FrameForm, qualified
from headish.transcripts.shared.jsontext import is_object, says_error
from headish.transcripts.shared.native import BlockStep, Run, Taker, note_calls, take_runs
from headish.transcripts.shared.transcript import KINDS, MARKERS, arguments_of, make_call, make_message
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse, join_texts
from headish.values.messages import Message

_TAKERS = {name: Taker(form.title) for name, form in FORMS.items()}


class FrameContext(Struct, frozen=True):
    """What a frame depends on in addition to its block."""

    step: BlockStep
    form: FrameForm
    before_call: bool


def flatten(
    messages: Sequence[Message], form: str, drop: Collection[str], call_names: dict[str, str]
) -> Iterator[Message]:
    """The messages, in order, each as one frame of a form carries it.

    ``call_names`` are the tools of calls that came before, by id.
    Raises: Unrepresentable if a block does not fit a frame.
    """
    for message in messages:
        yield from _flatten_message(BlockStep(message, _TAKERS[form], drop, call_names), FORMS[form])
        note_calls(message, call_names)


def _flatten_message(step: BlockStep, form: FrameForm) -> Iterator[Message]:
    # A message without content is an empty frame.
    runs = take_runs(step) if step.message.content else [(Text(""),)]
    flat: list[Message] = []
    for index, run in enumerate(runs):
        before_call = index + 1 < len(runs) and isinstance(runs[index + 1][0], ToolUse)
        made = _WRITERS[type(run[0])](run[0], FrameContext(step, form, before_call))
        flat.append(replace(made, content=_merged(run, form)) if isinstance(run[0], Text) else made)
    yield from flat[:-1]
    if flat:
        # How the message ended is how its last frame does; the others end as usual.
        stop = step.message.attributes.stop
        yield flat[-1] if stop is None else replace(flat[-1], attributes=replace(flat[-1].attributes, stop=stop))


def _merged(run: Run, form: FrameForm) -> tuple[ContentBlock, ...]:
    """Texts in normal form: one that no literal block can hold becomes plain, and adjacent plain ones are joined."""
    merged: list[Text] = []
    for block in run:
        assert isinstance(block, Text)
        text = Text(block.text, block.literal and form.escapes and _can_stand_literally(block.text))
        if merged and not text.literal and not merged[-1].literal:
            merged[-1] = Text(merged[-1].text + text.text)
        elif text.text:
            merged.append(text)
    return tuple(merged)


def _can_stand_literally(text: str) -> bool:
    """Whether a literal block can hold a text. A reader ends it at the first end token, and takes angles alone for
    plain text."""
    return bool(text.strip("<")) and "<|endliteral|>" not in text


def _write_text(block: Text, frame: FrameContext) -> Message:
    role, given = frame.step.message.role, frame.step.message.attributes
    if role == "tool":
        raise frame.step.refuse("text of a tool that is not a tool result")
    channel, intent = given.channel, given.intent
    if role == "assistant":
        if channel == "analysis" or (given.recipient is not None and given.recipient not in PEOPLE):
            raise frame.step.refuse("plain text where a reader expects reasoning or a call")
        # 2.0 has no word that shows a plan on commentary, so it would hide the text from the user.
        plans = frame.before_call and channel is None and frame.form.name != "2.0"
        channel = channel or ("commentary" if plans else "final")
        # Harmony can read an intent but not write one; 2.2 alone has escapes.
        intent = intent or ("preamble" if plans and "intent" in frame.form.known and frame.form.escapes else None)
    return _made(
        frame, (block,) if block.text else (), recipient=given.recipient, call_id=given.call_id, speaker=given.speaker,
        intent=intent, channel=channel,
    )  # fmt: skip


def _write_thinking(block: Thinking, frame: FrameContext) -> Message:
    if block.kind is not None and (block.kind not in KINDS or any(marker in block.text for marker in MARKERS)):
        raise frame.step.refuse(f"reasoning of kind {block.kind!r} that a reader would take for another")
    given = frame.step.message.attributes
    return _made(frame, (block,), channel="analysis", speaker=given.speaker, intent=given.intent)


def _write_call(block: ToolUse, frame: FrameContext) -> Message:
    arguments, given = arguments_of(block), frame.step.message.attributes
    constrains = frame.form.constrains and is_object(arguments)
    return _made(
        frame, (make_call(qualified(block.name), arguments, id=block.id),), channel=given.channel or "commentary",
        constrain=given.constrain or ("json" if constrains else None), speaker=given.speaker, intent=given.intent,
        content_type=None,
    )  # fmt: skip


def _write_result(block: ToolResult, frame: FrameContext) -> Message:
    given, failed = frame.step.message.attributes, says_error(join_texts(block.content))
    if block.is_error and not failed:
        raise frame.step.refuse("an error flag that the result itself does not show", "is_error")
    if block.status is not None:
        raise frame.step.refuse(f"the status {block.status!r} of a result", "status")
    name = None if block.name is None else qualified(block.name)
    return _made(
        frame, (replace(block, name=name, is_error=failed or None),), role="tool",
        recipient=given.recipient or "assistant", channel=given.channel or "commentary", intent=given.intent,
    )  # fmt: skip


def _made(frame: FrameContext, content: Sequence[ContentBlock], *, role: str | None = None, **said: Any) -> Message:
    """Make a message in normal form; every frame gets the constraint, content type and further attributes."""
    message = frame.step.message
    given = message.attributes
    said = {"content_type": given.content_type, "constrain": given.constrain, "extra": given.extra, **said}
    return replace(make_message(role or message.role, content, **said), turn=message.turn)


_WRITERS: dict[type, Callable[[Any, FrameContext], Message]] = {
    Text: _write_text,
    Thinking: _write_thinking,
    ToolUse: _write_call,
    ToolResult: _write_result,
}
