"""Write messages as the RWKV Universal Chat Template. It has no escape: a text that would end its block is refused."""

from __future__ import annotations

from headish.errors import HeaderValue, Unrepresentable
from headish.transcripts.rwkv.parser import ATTRIBUTE_NAME, END_TAGS, STATUS, is_attribute_value
from headish.transcripts.shared.jsontext import says_more
from headish.transcripts.shared.transcript import Transcript, arguments_of, check_whole, is_open, stop_of, usual_stop
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.limits import MESSAGE_HEADER_LIMIT
from headish.values.messages import Message

TITLE = "the RWKV template"
_TAGS = {"system": "SYS", "user": "USER", "assistant": "ASSISTANT"}
_ATTRIBUTES = ("speaker", "channel", "recipient", "call_id", "intent", "content_type", "constrain")


def write_rwkv(transcript: Transcript) -> str:
    """The text of a transcript: blocks separated by a blank line.

    Raises: Unrepresentable (E-EMIT-UNREPRESENTABLE), HeaderValue (E-EMIT-HEADER-VALUE).
    """
    check_whole(transcript, TITLE, has_header=False)
    blocks = [_write_block(message) for message in transcript.messages]
    if transcript.pending is not None:
        blocks.append(_write_pending(transcript.pending))
    text = "\n\n".join(blocks)
    return text if is_open(transcript) or not blocks else text + "\n"


def _write_block(message: Message) -> str:
    given = message.attributes
    for key in _ATTRIBUTES:
        if getattr(given, key) is not None:
            raise _refused(message, f"the {key} of a message", _DROPS.get(key, key))
    tag, body, attributes = _take_apart(message)
    stop = stop_of(message)
    if stop not in (usual_stop(message), "none"):
        raise _refused(message, f"the stop {stop!r}", "stop")
    if END_TAGS[tag] in body:
        raise _refused(message, f"a text that holds {END_TAGS[tag]}")
    if stop == "none" and tag == "ASSISTANT" and not body:
        # It would be read as the prompt for an answer.
        raise _refused(message, "an unfinished message without content", "stop")
    inside = f"<<{tag}{attributes}"
    if len(inside) > MESSAGE_HEADER_LIMIT:
        raise HeaderValue(TITLE, f"a tag of more than {MESSAGE_HEADER_LIMIT:,} characters", turn=message.turn)
    opening = f"{inside}>>\n"
    return opening + body if stop == "none" else f"{opening}{body}\n{END_TAGS[tag]}"


def _write_pending(message: Message) -> str:
    empty = Message(role="assistant", content=())
    if message.role != "assistant" or message.attributes != empty.attributes or message.content:
        raise Unrepresentable(TITLE, "an open message that is more than the assistant's turn", drop="pending")
    return "<<ASSISTANT>>\n"


def _take_apart(message: Message) -> tuple[str, str, str]:
    """The tag, the body and the attributes of a message's block."""
    content = message.content
    if len(content) == 1 and isinstance(content[0], ToolUse) and message.role == "assistant":
        return "TOOL_CALL", arguments_of(content[0]), _write_call_attributes(content[0], message)
    if len(content) == 1 and isinstance(content[0], ToolResult) and message.role == "tool":
        result = content[0]
        return "TOOL_RESULT", _text_of(result.content, message), _write_result_attributes(result, message)
    if message.role not in _TAGS:
        raise _refused(message, f"the role {message.role!r}")
    if message.attributes.extra:
        raise _refused(message, "further attributes of a text", "extra")
    return _TAGS[message.role], _text_of(content, message), ""


def _text_of(content: tuple[ContentBlock, ...], message: Message) -> str:
    """The one text of a block; an empty body if there is none."""
    if not content:
        return ""
    [block, *more] = content
    if isinstance(block, Thinking):
        raise _refused(message, "reasoning", "thinking")
    if more or not isinstance(block, Text) or not block.text:
        raise _refused(message, "content that is not one text")
    if block.literal:
        raise _refused(message, "a literal block", "literal")
    return block.text


def _write_call_attributes(call: ToolUse, message: Message) -> str:
    if not call.name:
        raise HeaderValue(TITLE, "a call without a name", turn=message.turn)
    if says_more(call):
        raise _refused(message, "a call whose JSON has further keys")
    return _write_attributes({"name": call.name, "id": call.id}, message)


def _write_result_attributes(result: ToolResult, message: Message) -> str:
    # A block has one status. ``ok`` and ``error`` would be read as the flag.
    if result.status in STATUS or (result.status is not None and result.is_error is not None):
        raise _refused(message, f"the status {result.status!r} beside an error flag", "status")
    if says_more(result):
        raise _refused(message, "a result whose JSON has further keys")
    words = {failed: word for word, failed in STATUS.items()}
    status = result.status if result.is_error is None else words[result.is_error]
    return _write_attributes({"name": result.name, "id": result.tool_use_id, "status": status}, message)


def _write_attributes(known: dict[str, str | None], message: Message) -> str:
    extra = message.attributes.extra
    written = {key: value for key, value in known.items() if value is not None}
    for key in extra:
        if ATTRIBUTE_NAME.fullmatch(key) is None or key in known:
            raise HeaderValue(TITLE, f"an attribute named {key[:80]!r}", turn=message.turn)
    for key, value in {**written, **extra}.items():
        if not is_attribute_value(value):
            raise HeaderValue(TITLE, f"{key}={value[:80]!r} in a tag", turn=message.turn)
    return "".join(f' {key}="{value}"' for key, value in {**written, **extra}.items())


def _refused(message: Message, what: str, drop: str | None = None) -> Unrepresentable:
    return Unrepresentable(TITLE, what, turn=message.turn, drop=drop)


_DROPS = {"speaker": "name", "recipient": "to"}
