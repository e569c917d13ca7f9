"""Write messages as OpenChatML 2.x, faithfully and in canonical form.

Escaping is the defence against injected frames (2.2 §3): every control token in a body is written with one more ``<``,
and the run of ``<`` that ends a body is put into a literal block, because it would swallow the terminator. The forms
without escapes refuse a body that holds a token.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from headish.errors import HeaderValue, InvalidTranscript, Unrepresentable
from headish.transcripts.openchatml.forms import FORMS, TERMINATORS, TOKEN, FrameForm, form_of_version
from headish.transcripts.openchatml.frames import broken_promises, check_reply, open_header, write_message
from headish.transcripts.openchatml.headers import check_channel, check_value, write_attributes
from headish.transcripts.openchatml.parser import FrameParser
from headish.transcripts.openchatml.yamlheader import write_header
from headish.transcripts.shared.transcript import Header, Transcript, check_whole, is_open
from headish.values.blocks import Text
from headish.values.limits import MESSAGE_HEADER_LIMIT
from headish.values.messages import Message

_NINE = TOKEN["2.2"]
_PROMISES = {
    "E-BODY-CONSTRAINT-VIOLATION": "a body that is not the JSON that its header says",
    "E-PARSE-CHANNEL-MISSING": "an answer without the channel that the header's profile wants",
}


def write_transcript(transcript: Transcript, format: str, *, strict: bool = True) -> str:
    """The text of a transcript in one of the ``FORMS``.

    ``strict`` refuses what a strict reader does: a body that breaks its constraint, and an answer without a channel
    where the header wants one.
    Raises: Unrepresentable (E-EMIT-UNREPRESENTABLE) for what the form cannot carry; HeaderValue
    (E-EMIT-HEADER-VALUE) for a name or id that would break a header.
    """
    form = FORMS[format]
    check_whole(transcript, form.title, has_header=True)
    if strict:
        _check_promises(transcript, form)
    frames = [write_frame(message, form) for message in transcript.messages]
    if transcript.pending is not None:
        frames.append(_write_pending(transcript.pending, form))
    text = _write_yaml(transcript, form) + form.separator.join(frames)
    return text + "\n" if frames and form.ends_in_line_break and not is_open(transcript) else text


def _check_promises(transcript: Transcript, form: FrameForm) -> None:
    for message in transcript.messages:
        for code, word in broken_promises(message, transcript.header):
            raise Unrepresentable(form.title, f"{_PROMISES[code]} ({code})", turn=message.turn, drop=word)


def write_frame(message: Message, form: FrameForm) -> str:
    """One message as a frame. Raises: Unrepresentable, HeaderValue."""
    header, texts, stop = write_message(message, form)
    start = _write_start(header, form, message.turn)
    return f"{start}<|message|>{_write_body(texts, form, message.turn)}{TERMINATORS[stop]}"


def escape(body: str) -> str:
    """Escape a body of 2.2, so that its only control tokens are those written here."""
    doubled = _NINE.sub(lambda token: "<" + token.group(), body)
    kept = doubled.rstrip("<")  # a pattern for the run at the end would look for it at each of its angles
    run = doubled[len(kept) :]
    return f"{kept}<|literal|>{run}<|endliteral|>" if run else doubled


def _write_pending(message: Message, form: FrameForm) -> str:
    """An open header: no channel, no content."""
    header = open_header(message, form.title)
    if message.role == "tool":
        check_reply(header, form, message)
    return _write_start(header, form, None)


def _write_start(header: Header, form: FrameForm, turn: str | None) -> str:
    """The header up to its message token."""
    if not form.escapes:
        _refuse_attributes(header, form, turn)
    role = header.role
    # Harmony has no keys for these: a name goes to the role, a content type after the channel.
    header_left = header
    if role == "tool" and form.replies_by_role and header.name is not None:
        role = check_value("name", header.name, form, turn)
        header_left = replace(header, name=None)
    elif form.name == "harmony" and header.name is not None:
        role = f"{role}:{check_value('name', header.name, form, turn)}"
        header_left = replace(header, name=None)
    content_type = None
    if form.name == "harmony":
        content_type, header_left = header_left.content_type, replace(header_left, content_type=None)
        # Harmony has no key for it, and a reader takes a word with ``=`` for another attribute.
        if content_type is not None and "=" in content_type:
            raise HeaderValue(form.title, f"content_type={content_type[:80]!r} in a message header", turn=turn)
    channel = check_channel(header.channel, form, turn)
    parts = [
        f"<|start|>{role}{write_attributes(header_left, form, turn)}",
        f"<|channel|>{channel}" if channel else "",
        f" {check_value('content_type', content_type, form, turn)}" if content_type else "",
    ]
    if header.constrain is not None:
        blank = " " if form.name == "harmony" else ""
        parts.append(f"{blank}<|constrain|>{check_value('constrain', header.constrain, form, turn)}")
    start = "".join(parts)
    if len(start) - len("<|start|>") > MESSAGE_HEADER_LIMIT:
        raise HeaderValue(form.title, f"a message header of more than {MESSAGE_HEADER_LIMIT:,} characters", turn=turn)
    return start


def _refuse_attributes(header: Header, form: FrameForm, turn: str | None) -> None:
    """Refuse attributes that 2.0 or Harmony has no words for. Raises: Unrepresentable."""
    absent = ["call_id", "intent"] + ([] if form.constrains else ["content_type", "constrain"])
    for key in absent:
        if getattr(header, key) is not None:
            raise Unrepresentable(form.title, f"the attribute {key}", turn=turn, drop=key)
    if form.name != "harmony":
        return
    if header.extra:
        raise Unrepresentable(form.title, "further attributes", turn=turn, drop="extra")
    if header.content_type is not None and header.constrain is not None:
        raise Unrepresentable(form.title, "both a content type and a constraint", turn=turn, drop="content_type")
    # The first bare word of a header without a recipient is the recipient.
    if header.content_type is not None and header.to is None:
        raise Unrepresentable(form.title, "a content type without a recipient", turn=turn, drop="content_type")
    if header.constrain is not None and header.to is None:
        # Harmony's own parser takes the constraint for the recipient.
        raise Unrepresentable(form.title, "a constraint without a recipient", turn=turn, drop="constrain")
    if header.to == "all":
        raise Unrepresentable(form.title, "the recipient all", turn=turn, drop="to")


def _write_body(pieces: Sequence[Text], form: FrameForm, turn: str | None) -> str:
    """The text of a frame: literal pieces in literal blocks, the rest escaped."""
    if form.escapes:
        return "".join(_write_literal(piece, form, turn) if piece.literal else escape(piece.text) for piece in pieces)
    for piece in pieces:
        if piece.literal:
            raise Unrepresentable(form.title, "a literal block", turn=turn, drop="literal")
        if form.token.search(piece.text):
            raise Unrepresentable(form.title, "a control token in a text", turn=turn)
    return "".join(piece.text for piece in pieces)


def _write_literal(piece: Text, form: FrameForm, turn: str | None) -> str:
    if not piece.text.strip("<") or "<|endliteral|>" in piece.text:
        raise Unrepresentable(
            form.title, "a literal block that a reader would take for another", turn=turn, drop="literal"
        )
    return f"<|literal|>{piece.text}<|endliteral|>"


def _write_yaml(transcript: Transcript, form: FrameForm) -> str:
    """The YAML header, verbatim if its text is known. It is read again, and refused if it does not come back."""
    header = transcript.header
    if header is None:
        if transcript.header_raw is not None:
            raise Unrepresentable(form.title, "the text of a header without the header")
        return ""
    if not form.has_header:
        raise Unrepresentable(form.title, "a YAML header", drop="header")
    if form_of_version(str(header.get("version", ""))) != form.name:
        raise Unrepresentable(form.title, f"a header of version {header.get('version')!r}", drop="header")
    raw = transcript.header_raw
    if raw is None and header == {"version": form.name}:  # the usual header is known to come back
        return write_header(header)
    text = write_header(header) if raw is None else raw
    follows = bool(transcript.messages) or transcript.pending is not None
    # What follows a header decides where it ends, so the check writes the beginning of a frame after it.
    if _reads_as(text + "<|start|>user" if follows else text) != header:
        raise Unrepresentable(form.title, "a header that a reader would not read as it is", drop="header")
    return text


def _reads_as(text: str) -> object:
    parser = FrameParser("2.2")
    try:
        parser.feed(text)
        return parser.finish().header
    except InvalidTranscript:
        return None
