"""The parser of OpenChatML 2.x: one machine for the 2.2 and 2.0 files and for Harmony's wire form.

It takes text in chunks of any size, and gives the same however the text is cut; a whole text is one chunk. It waits for
no more than a token, a message header or the YAML header. Its states::

    preamble ──▶ between ──▶ header ──▶ body ⇄ literal
                    ▲                    │
                    └────────────────────┘

Source: OpenChatML 2.2 §2–§6, §15; 2.0 §2–§6. A body ends at the first terminator that is neither escaped nor inside a
literal block: §15's "next <|end|>" forgets the other two.
"""

from __future__ import annotations

from headish.transcripts.openchatml.forms import FORMS, START
from headish.transcripts.openchatml.frames import breaks_constraint, open_message, read_message
from headish.transcripts.openchatml.headers import BadFrame, read_frame_header
from headish.transcripts.openchatml.preamble import Preamble
from headish.transcripts.shared.parser import MessageOpened, MessagePiece, Parser
from headish.transcripts.shared.transcript import Header, Transcript
from headish.values.blocks import Text, join_texts
from headish.values.limits import MESSAGE_HEADER_LIMIT
from headish.values.messages import Message

_LITERAL_END = "<|endliteral|>"
_STOPS = ("end", "call", "return")
_LONGEST = len(_LITERAL_END)


class FrameParser(Parser):
    """Reads frames; see the module. ``strict=False`` keeps what breaks a constraint or a channel profile."""

    def __init__(self, format: str = "2.2", *, strict: bool = True, start_role: str | None = None) -> None:
        super().__init__(format)
        self._form, self._strict = FORMS[format], strict
        self._preamble = Preamble(self._source)
        self._scanned = 0
        self._may_end_again = False
        self._header: Header | None = None
        self._body = BodyBlocks()
        self._after_angle = False
        self._state = self._read_preamble if self._form.has_header else self._read_between
        if start_role is not None:
            self._state = self._read_between
            # A completion goes on inside the header that its prompt ended with.
            self._source.add(START + start_role)

    def _read_preamble(self) -> bool:
        return self._preamble.read() and self._begin_frames()

    def _begin_frames(self) -> bool:
        """Go on to the frames, in the grammar that the header's version picks."""
        if self._preamble.form is not None:
            self._form = FORMS[self._preamble.form]
            self._source.format = self._form.name
        return self._go(self._read_between)

    # --- frames

    def _read_between(self) -> bool:
        source = self._source
        source.skip_blanks()
        if self._may_end_again and source.begins_with("<|end|>"):
            self._may_end_again = False
            return True
        if source.begins_with(START):
            self._scanned, self._may_end_again = 0, False
            return self._go(self._read_header)
        if source.may_become(START) or (self._may_end_again and source.may_become("<|end|>")):
            return False
        raise source.error("E-PARSE-FRAME", f"text outside a message; {START} is expected")

    def _read_header(self) -> bool:
        source, text = self._source, self._source.text
        token = self._form.token.search(text, source.at + self._scanned)
        # These two are part of the header. The next one must end it.
        while token is not None and token.group(1) in ("channel", "constrain"):
            token = self._form.token.search(text, token.end())
        # Without a token, one may have begun: its beginning is not part of the header.
        self._check_length((token.start() if token else len(text) - _LONGEST + 1) - source.at)
        if token is None:
            # Searched text is not searched again, except its end, where a token may have begun.
            self._scanned = max(0, len(text) - source.at - _LONGEST)
            return False
        if token.group(1) != "message":
            raise source.error("E-PARSE-HEADER", f"{token.group()} in a message header", token.start())
        self._header = self._take_message_header(text[source.at : token.start()])
        source.at = token.end()
        self.events.append(MessageOpened(self.count, self._header))
        self._body, self._after_angle = BodyBlocks(), False
        return self._go(self._read_body)

    def _check_length(self, length: int) -> None:
        if length > MESSAGE_HEADER_LIMIT:
            raise self._source.error(
                "E-PARSE-HEADER", f"a message header of more than {MESSAGE_HEADER_LIMIT} characters"
            )

    def _take_message_header(self, text: str) -> Header:
        source = self._source
        try:
            header = read_frame_header(text, self._form)
        except BadFrame as error:
            raise source.error("E-PARSE-HEADER", error.reason, source.at + error.at) from None
        missing = header.role == "assistant" and header.channel is None
        if missing and self._preamble.requires_channels and self._strict:
            raise source.error("E-PARSE-CHANNEL-MISSING", "the header's profile wants a channel on every answer")
        return header

    # --- bodies

    def _read_body(self) -> bool:
        """Read text up to the next token that counts. What may begin a token waits for more text."""
        source, form = self._source, self._form
        text, begin = source.text, source.at
        place = begin
        while (found := text.find("<|", place)) >= 0:
            token = form.token.match(text, found)
            if token is None:
                if len(text) - found < _LONGEST and _is_beginning(text[found:], form.tokens):
                    break
                place = found + 2
            # Harmony has no escapes, and takes a token that ends nothing for text.
            elif form.opaque and token.group(1) not in _STOPS:
                place = token.end()
            elif form.escapes and (text[found - 1] == "<" if found > begin else self._after_angle):
                # A run of n angles before a token stands for n - 1 of them and the token's text.
                self._add(text[begin:found])
                begin, place = found + 1, token.end()
                self._after_angle = False
            else:
                self._add(text[begin:found])
                source.at = token.end()
                return self._take_token(token.group(1), found)
        held = found if found >= 0 else len(text) - (text.endswith("<") and len(text) > begin)
        if held > begin:
            # An angle at the end of this chunk escapes a token at the beginning of the next one.
            self._after_angle = text[held - 1] == "<"
            self._add(text[begin:held])
        source.at = held
        return False

    def _take_token(self, name: str, at: int) -> bool:
        source = self._source
        self._after_angle = False
        if name in _STOPS:
            self._close(name)
            # An <|end|> directly after another terminator belongs to it.
            self._may_end_again = name != "end"
            return self._go(self._read_between)
        if name == "literal":
            self._body.begin_literal()
            return self._go(self._read_literal)
        if name == "start":
            raise source.error("E-STREAM-TRUNCATED", "a message begins before the one before it has ended", at)
        raise source.error("E-PARSE-FRAME", f"<|{name}|> in the body of a message", at)

    def _read_literal(self) -> bool:
        """Read opaque text up to the first end token of the block."""
        source, text = self._source, self._source.text
        found = text.find(_LITERAL_END, source.at)
        end = found if found >= 0 else max(source.at, len(text) - _LONGEST + 1)
        self._add(text[source.at : end])
        source.at = end
        if found < 0:
            return False
        source.at += _LONGEST
        self._body.end_literal()
        return self._go(self._read_body)

    def _add(self, text: str) -> None:
        if text:
            self._body.add(text)
            self.events.append(MessagePiece(text))

    def _close(self, stop: str) -> None:
        assert self._header is not None
        texts = self._body.end()
        # A partial reading keeps a body that was cut off, and half of JSON is no JSON.
        if stop != "none" and self._strict and breaks_constraint(self._header.constrain, join_texts(texts)):
            raise self._source.error("E-BODY-CONSTRAINT-VIOLATION", "the body is not the JSON that its header says")
        message = read_message(self._header, texts, stop)
        self._add_message(message)
        self._header = None

    # --- the end

    def _around(self) -> Transcript:
        return Transcript(header=self._preamble.header, header_raw=self._preamble.raw)

    def _finish(self) -> Message | None:
        source = self._source
        if self._state == self._read_preamble:
            self._preamble.finish()
            self._begin_frames()
        if self._state == self._read_header:
            return self._read_pending()
        if self._state == self._read_between:
            source.skip_blanks()
            if source.at == len(source.text):
                return None
        raise source.error("E-STREAM-TRUNCATED", "the text ends before its last message does", len(source.text))

    def _read_pending(self) -> Message | None:
        """Read the open header at the end. Without a channel it is a generation prompt, else the text was cut off."""
        source = self._source
        text = source.text[source.at :]
        self._check_length(len(text))
        try:
            header = read_frame_header(text, self._form)
        except BadFrame:
            header = None
        if header is None or header.channel is not None or "<|" in text:
            raise source.error("E-STREAM-TRUNCATED", "the text ends inside a message header", len(source.text))
        return open_message(header)

    def _finish_partially(self) -> str | None:
        """Keep what came of the last message; return the raw rest if even its header is incomplete."""
        source = self._source
        if self._state == self._read_header:
            return START + source.rest()
        if self._state == self._read_between:
            return source.rest()
        self._add(source.rest())
        self._close("none")
        return None


def _is_beginning(text: str, tokens: tuple[str, ...]) -> bool:
    return any(f"<|{token}|>".startswith(text) for token in tokens)


class BodyBlocks:
    """Collects a body in normal form: plain text is one block, each literal block is its own."""

    def __init__(self) -> None:
        self._texts: list[Text] = []
        self._plain: list[str] = []
        self._literal: list[str] | None = None

    def add(self, text: str) -> None:
        """Add text; inside a literal block it is literal."""
        (self._plain if self._literal is None else self._literal).append(text)

    def begin_literal(self) -> None:
        """Begin a literal block."""
        self._literal = []

    def end_literal(self) -> None:
        """End the literal block. One of angles alone is plain text: so a text that ends in them is written."""
        text, self._literal = "".join(self._literal or ()), None
        if not text.strip("<"):
            self._plain.append(text)
            return
        self._end_plain()
        self._texts.append(Text(text, True))

    def end(self) -> tuple[Text, ...]:
        """Return the texts, when no more come."""
        if self._literal is not None:
            self.end_literal()
        self._end_plain()
        return tuple(self._texts)

    def _end_plain(self) -> None:
        text = "".join(self._plain)
        self._plain = []
        if text:
            self._texts.append(Text(text))
