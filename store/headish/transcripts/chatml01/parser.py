"""The parser of OpenChatML 0.1: messages between ``<|im_start|>`` and ``<|im_end|>``, or a bare sequence.

::

    outside ──▶ header line ──▶ body ──▶ outside …

There is no escape: a token in a body is a token. A text without a message token is a bare sequence (fill in the middle,
many files): one message without a role, which is known only at its end. A message shows only when it is complete.

Source: the README of QuixiAI/OpenChatML at git 48037ee, §2–§9.
"""

from __future__ import annotations

from contextlib import suppress

from headish.errors import InvalidTranscript
from headish.transcripts.chatml01.blocks import ANY_TOKEN, IM_END, IM_START, is_framed, read_body
from headish.transcripts.shared.parser import MessageOpened, Parser
from headish.transcripts.shared.source import BLANKS
from headish.transcripts.shared.transcript import Header, Transcript, is_header_value, make_message
from headish.values.limits import MESSAGE_HEADER_LIMIT
from headish.values.messages import Message

ROLES = ("system", "tool", "user", "assistant")


class ChatMLParser(Parser):
    """Reads OpenChatML 0.1; ``bos`` and ``eos`` are the spellings of the base model's tokens."""

    def __init__(self, *, bos: str = "[BOS]", eos: str = "[EOS]", start_role: str | None = None) -> None:
        super().__init__("v0.1")
        self._bos_text, self._eos_text = bos, eos
        self._bos = self._eos = False
        self._scanned = 0
        self._name: str | None = None
        self._role = ""
        self._has_crlf = False
        self._parts: list[str] = []
        self._state = self._read_front
        if start_role is not None:
            # A completion goes on after these words of its prompt.
            self._source.add(IM_START + start_role)

    def _read_front(self) -> bool:
        """Read the blanks and the base model's token before the first message token, once that has come."""
        source, text = self._source, self._source.text
        # Nothing is consumed yet: without a message token, blanks and the base model's token belong to the text.
        found = text.find("<|im_", self._scanned)
        while found >= 0 and not text.startswith((IM_START, IM_END), found):
            # The next chunk may complete a message token.
            if len(text) - found < len(IM_START):
                break
            found = text.find("<|im_", found + 1)
        if found < 0 or not text.startswith((IM_START, IM_END), found):
            self._scanned = max(0, len(text) - len(IM_START)) if found < 0 else found
            return False
        source.skip_blanks()
        if self._bos_text and source.begins_with(self._bos_text):
            self._bos = True
            source.skip_blanks()
        return self._go(self._read_between)

    def _read_between(self) -> bool:
        source = self._source
        source.skip_blanks()
        if source.begins_with(IM_START):
            return self._go(self._read_header)
        # The end token follows messages, once; before the first it would be text outside a message.
        may_end = self.count and not self._eos and self._eos_text
        if may_end and source.begins_with(self._eos_text):
            self._eos = True
            return self._go(self._read_end)
        if source.may_become(IM_START) or (may_end and source.may_become(self._eos_text)):
            return False
        raise source.error("E-PARSE-FRAME", f"text outside a message; {IM_START} is expected")

    def _read_end(self) -> bool:
        source = self._source
        source.skip_blanks()
        if source.at < len(source.text):
            raise source.error("E-PARSE-FRAME", f"text behind {self._eos_text}")
        return False

    def _read_header(self) -> bool:
        source, text = self._source, self._source.text
        end = text.find("\n", source.at)
        line = text[source.at : end if end >= 0 else len(text)]
        if len(line) > MESSAGE_HEADER_LIMIT:
            raise source.error("E-PARSE-HEADER", f"a message header of more than {MESSAGE_HEADER_LIMIT} characters")
        if end < 0:
            return False
        self._has_crlf = line.endswith("\r")
        self._role, self._name = self._read_line(line.removesuffix("\r"))
        source.at = end + 1
        self._parts = []
        self.events.append(MessageOpened(self.count, Header(role=self._role, name=self._name)))
        return self._go(self._read_body)

    def _read_line(self, line: str) -> tuple[str, str | None]:
        """The role and the speaker's name of a header line. Raises: InvalidTranscript (E-PARSE-HEADER)."""
        words = line.replace("\t", " ").split(" ")
        words = [word for word in words if word]
        role = words[0] if words and line[:1] not in BLANKS else ""
        if role not in ROLES:
            raise self._source.error("E-PARSE-HEADER", f"a role is one of {', '.join(ROLES)}")
        if len(words) == 1:
            return role, None
        key, equals, value = words[1].partition("=")
        if len(words) > 2 or key != "name" or not equals or not is_header_value(value):
            raise self._source.error("E-PARSE-HEADER", "only name=VALUE may follow the role")
        return role, value

    def _read_body(self) -> bool:
        source, text = self._source, self._source.text
        place = source.at
        while (found := text.find("<|im_", place)) >= 0:
            if text.startswith(IM_END, found):
                self._parts.append(text[source.at : found])
                source.at = found + len(IM_END)
                self._close("end")
                return self._go(self._read_between)
            if text.startswith(IM_START, found):
                raise source.error("E-STREAM-TRUNCATED", "a message begins before the one before it has ended", found)
            # The next chunk may complete a message token.
            if len(text) - found < len(IM_START):
                break
            place = found + 1
        held = found if found >= 0 else _hold_back(text, source.at)
        self._parts.append(text[source.at : held])
        source.at = held
        return False

    def _close(self, stop: str) -> None:
        body = "".join(self._parts)
        tight = False
        if stop == "end":
            # One break is syntax. It may be CRLF only if the header line ended so; else the CR is text.
            line_break = "\r\n" if self._has_crlf and body.endswith("\r\n") else "\n"
            tight = not body.endswith("\n")
            body = body if tight else body[: -len(line_break)]
        blocks = read_body(body, self._role, has_crlf=self._has_crlf)
        ending = {"stop": "none"} if stop == "none" else {}
        message = make_message(self._role, blocks, speaker=self._name, tight=tight, **ending)
        self._add_message(message)

    def _around(self) -> Transcript:
        return Transcript(bos=self._bos, eos=self._eos)

    def _finish(self) -> Message | None:
        source = self._source
        if self._state == self._read_front:
            self._finish_bare()
            return None
        if self._state == self._read_header:
            line = source.text[source.at :]
            # A token makes the header wrong, not incomplete: reading the line raises that error.
            if ANY_TOKEN.search(line):
                self._read_line(line)
            # A `<` may begin a token that was cut off.
            if "<" not in line:
                with suppress(InvalidTranscript):
                    role, name = self._read_line(line)
                    return make_message(role, (), speaker=name)
        elif self._state == self._read_body:
            if not "".join(self._parts) and source.at == len(source.text):
                return make_message(self._role, (), speaker=self._name)
        elif source.at == len(source.text):
            return None
        raise source.error("E-STREAM-TRUNCATED", "the text ends before its last message does", len(source.text))

    def _finish_bare(self) -> None:
        """Read a text without message tokens: one message without a role, or nothing if the text is blank."""
        source, text = self._source, self._source.text
        source.skip_blanks()
        self._bos = bool(self._bos_text) and source.begins_with(self._bos_text)
        source.skip_blanks()
        self._eos = bool(self._eos_text) and source.begins_with(self._eos_text)
        source.skip_blanks()
        if source.at == len(text):
            return
        # The text is kept exactly, so the base model's tokens are part of it.
        self._bos = self._eos = False
        if is_framed(text):
            raise source.error("E-PARSE-FRAME", "this is OpenChatML 2.x, which a reader of 0.1 cannot read")
        message = make_message(None, read_body(text, None, has_crlf=False))
        self.events.append(MessageOpened(0, Header(role="")))
        self._add_message(message)
        source.at = len(text)

    def _finish_partially(self) -> str | None:
        """Keep what came of the last message; return the raw rest if even its header is incomplete."""
        source = self._source
        if self._state == self._read_body:
            self._parts.append(source.rest())
            self._close("none")
            return None
        return (IM_START if self._state == self._read_header else "") + source.rest()


def _hold_back(text: str, begin: int) -> int:
    """The end of the part of the text that cannot belong to a message token."""
    last = text.rfind("<", max(begin, len(text) - len(IM_START)))
    rest = text[last:] if last >= 0 else ""
    return last if rest and (IM_START.startswith(rest) or IM_END.startswith(rest)) else len(text)
