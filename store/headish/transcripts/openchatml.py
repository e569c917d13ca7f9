"""OpenChatML 2.2, the file form: frames to text.

Grammar (2.2 §6; where it and its examples differ, docs/reference/emitting.md says what holds)::

    <|start|>ROLE[ key=value …][<|channel|>CHANNEL][<|constrain|>TYPE]<|message|>BODY(<|end|>|<|call|>|<|return|>)

Escaping is the defence against injected frames (§3): every control token in a body is written with one more ``<``, and
a body that ends in ``<`` puts that run into a literal block, since it would swallow the terminator otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from headish.blocks import Text
from headish.errors import Unrepresentable
from headish.model import ContextWindow
from headish.transcripts.flatten import flatten
from headish.transcripts.frames import TARGET, Frame
from headish.transcripts.headers import check_channel, check_value, write_attributes

VERSION_HEADER = "version: 2.2\n\n"
TOKENS = ("start", "channel", "message", "call", "constrain", "return", "end", "literal", "endliteral")
TERMINATORS = {"end": "<|end|>", "call": "<|call|>", "return": "<|return|>", "none": ""}
_TOKEN = re.compile(rf"<\|(?:{'|'.join(TOKENS)})\|>")
_TRAILING = re.compile(r"<+\Z")


def encode_openchatml(window: ContextWindow, *, drop: Collection[str] = ()) -> str:
    """The transcript of a window: a header that says the version, then a frame a line, ending in a line feed.

    Raises: Unrepresentable (E-EMIT-UNREPRESENTABLE) for what the format cannot carry, with the word for ``drop`` that
    gives it up; HeaderValue (E-EMIT-HEADER-VALUE) for a name or id that would break a header.
    """
    frames = list(flatten(window, drop))
    unfinished = [frame for frame in frames[:-1] if frame.stop == "none"]
    if unfinished:
        raise Unrepresentable(TARGET, "an unfinished message before the last", turn=unfinished[0].turn)
    text = VERSION_HEADER + "\n".join(write_frame(frame) for frame in frames)
    return text if frames and frames[-1].stop == "none" else text + "\n" if frames else text


def write_frame(frame: Frame) -> str:
    """One frame, escaped."""
    terminator = TERMINATORS.get(frame.stop)
    if terminator is None:
        raise Unrepresentable(TARGET, f"the stop {frame.stop!r}", turn=frame.turn)
    attributes = write_attributes(frame.role, frame.attributes, frame.extra, frame.turn)
    channel = check_channel(frame.channel, frame.turn)
    parts = [
        f"<|start|>{frame.role}{attributes}",
        f"<|channel|>{channel}" if channel else "",
        f"<|constrain|>{check_value('constrain', frame.constrain, frame.turn)}" if frame.constrain else "",
        f"<|message|>{write_body(frame.body)}{terminator}",
    ]
    return "".join(parts)


def write_body(pieces: Iterable[Text]) -> str:
    """The text of a frame: literal pieces in literal blocks, the rest escaped."""
    written = ""
    plain = ""
    for piece in pieces:
        if piece.literal and _can_stand_literally(piece.text):
            written += f"{escape(plain)}<|literal|>{piece.text}<|endliteral|>"
            plain = ""
        else:
            plain += piece.text
    return written + escape(plain)


def _can_stand_literally(text: str) -> bool:
    """A reader ends the block at its first end token, and takes one that holds only ``<`` for plain text."""
    return bool(text.strip("<")) and "<|endliteral|>" not in text


def escape(body: str) -> str:
    """A body in which no control token stands but our own."""
    doubled = _TOKEN.sub(lambda token: "<" + token.group(), body)
    return _TRAILING.sub(lambda run: f"<|literal|>{run.group()}<|endliteral|>", doubled)
