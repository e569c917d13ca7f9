"""Convert a program's messages for OpenChatML 0.1 and the RWKV template, which have no channels.

Attributes that headish or a frame would have filled in (``final``, the ``json`` of a call, a result's ``to=assistant``)
mean nothing here and are left out. Any other attribute stays, and the writer refuses it by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from headish.transcripts.drops import merge_texts
from headish.transcripts.openchatml.forms import FUNCTIONS, is_builtin
from headish.transcripts.shared.jsontext import is_object
from headish.transcripts.shared.native import BlockStep, Run, Taker, note_calls, take_runs
from headish.transcripts.shared.transcript import KINDS, arguments_of, make_message
from headish.values.blocks import ContentBlock, Mark, Text, Thinking, ToolDefinitions, ToolResult, ToolUse
from headish.values.messages import Attributes, Message

TAKERS = {
    "v0.1": Taker("OpenChatML 0.1", keeps=(Mark, ToolDefinitions), thoughts=KINDS),
    "rwkv": Taker("the RWKV template", thoughts=()),
}


def write_plain(
    messages: Sequence[Message], target: str, drop: Collection[str], call_names: dict[str, str]
) -> Iterator[Message]:
    """The messages as ``v0.1`` or ``rwkv`` carries them; results are messages of role tool.

    Raises: Unrepresentable if a block fits no transcript.
    """
    for message in messages:
        step = BlockStep(message, TAKERS[target], drop, call_names)
        # Only a message of OpenChatML 0.1 may hold several blocks.
        plain = [_message(group, step) for group in _grouped(take_runs(step), target == "v0.1")]
        # A message without content is written as well, with an empty body.
        if not message.content:
            plain = [_message([()], step)]
        note_calls(message, call_names)
        stop = message.attributes.stop
        yield from plain[:-1]
        if plain:
            yield plain[-1] if stop is None else replace(plain[-1], attributes=replace(plain[-1].attributes, stop=stop))


def _grouped(runs: Sequence[Run], together: bool) -> Iterator[list[Run]]:
    """Group runs into messages. Adjacent texts would be read as one, so the second begins a new message."""
    group: list[Run] = []
    for run in runs:
        glued = bool(group) and isinstance(run[0], Text) and isinstance(group[-1][0], Text)
        # Results are of role tool, whatever message they came in.
        moved = bool(group) and isinstance(run[0], ToolResult) != isinstance(group[-1][0], ToolResult)
        if group and (glued or moved or not together):
            yield group
            group = []
        group.append(run)
    if group:
        yield group


def _message(group: Sequence[Run], step: BlockStep) -> Message:
    blocks = tuple(_named(block) for run in group for block in merge_texts(run))
    content = tuple(block for block in blocks if not isinstance(block, Text) or block.text)
    role = "tool" if any(isinstance(block, ToolResult) for block in content) else step.message.role
    attributes = replace(_less_implied(step.message.attributes, content), stop=None, tight=False)
    made = make_message(role, content)
    return replace(made, attributes=attributes, turn=step.message.turn)


def _named(block: ContentBlock) -> ContentBlock:
    """The block; a call or result with the plain name of its tool."""
    if not isinstance(block, ToolUse | ToolResult) or block.name is None:
        return block
    name = plain_name(block.name)
    return block if name == block.name else replace(block, name=name)


def plain_name(name: str) -> str:
    """A tool's name without ``functions.``, if 2.x would put it back; any other name unchanged."""
    rest = name.removeprefix(FUNCTIONS)
    return name if is_builtin(rest) or rest.startswith(FUNCTIONS) else rest


def _less_implied(given: Attributes, content: Sequence[ContentBlock]) -> Attributes:
    """The attributes without those that a frame of this content has anyway."""
    first = content[0] if content else Text("")
    calls, replies = isinstance(first, ToolUse), isinstance(first, ToolResult)
    usual = {"commentary"} if calls or replies else {"analysis"} if isinstance(first, Thinking) else {"final"}
    plans = given.channel == "commentary" and given.intent == "preamble"
    json = calls and given.constrain == "json" and is_object(arguments_of(first))  # type: ignore[arg-type]
    return replace(
        given,
        channel=None if given.channel in usual or plans else given.channel,
        intent=None if plans else given.intent,
        constrain=None if json else given.constrain,
        recipient=None if replies and given.recipient == "assistant" else given.recipient,
    )
