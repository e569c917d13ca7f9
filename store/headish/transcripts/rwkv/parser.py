"""The parser of the RWKV Universal Chat Template: blocks between tags.

::

    between ──▶ opening tag ──▶ body ──▶ rest of the line ──▶ between …

Only a block's own end tag ends it, at its first occurrence anywhere: the tags are meant to be special tokens, not
lines. No escape is defined. One line break after the opening tag and one before the end tag are syntax.

Source: the template's page, "Canonical transcript syntax" and "Tool / function conventions".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from headish.transcripts.shared.parser import MessageOpened, MessagePiece, Parser
from headish.transcripts.shared.transcript import Header, make_call, make_message
from headish.values.blocks import ContentBlock, Text, ToolResult
from headish.values.limits import MESSAGE_HEADER_LIMIT
from headish.values.messages import Message

ROLES = {"SYS": "system", "USER": "user", "ASSISTANT": "assistant", "TOOL_CALL": "assistant", "TOOL_RESULT": "tool"}
END_TAGS = {
    "SYS": "<<SYS_END>>", "USER": "<<USER_END>>", "ASSISTANT": "<<ASSISTANT_END>>",
    "TOOL_CALL": "<<END_TOOL_CALL>>", "TOOL_RESULT": "<<END_TOOL_RESULT>>",
}  # fmt: skip
STATUS = {"ok": False, "error": True}
ATTRIBUTE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NAME = re.compile(r"[A-Za-z_]*")
_ATTRIBUTE = re.compile(rf'[ \t]+({ATTRIBUTE_NAME.pattern})="([^"<>\\]*)"')
# Control, format, surrogate and separator characters, as in the headers of other formats.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})


class RWKVParser(Parser):
    """Reads the RWKV template."""

    def __init__(self, *, start_role: str | None = None) -> None:
        super().__init__("rwkv")
        self._scanned = 0
        self._tag = ""
        self._attributes: dict[str, str] = {}
        self._has_crlf = False
        self._parts: list[str] = []
        self._state = self._read_between
        if start_role is not None:
            # Two tags have the role `assistant`: take that of an answer, not of a call.
            tag = next((tag for tag, role in ROLES.items() if role == start_role and tag[:4] != "TOOL"), start_role)
            self._source.add(f"<<{tag}>>\n")

    def _read_between(self) -> bool:
        source = self._source
        source.skip_blanks()
        if source.text.startswith("<<", source.at):
            self._scanned = 2
            return self._go(self._read_tag)
        if source.may_become("<<"):
            return False
        raise source.error("E-PARSE-FRAME", "text outside a block")

    def _read_tag(self) -> bool:
        source, text = self._source, self._source.text
        end = text.find(">>", source.at + self._scanned)
        # Without its end, the last angle may be the first one of it.
        if (end if end >= 0 else len(text) - 1) - source.at > MESSAGE_HEADER_LIMIT:
            raise source.error("E-PARSE-FRAME", f"a tag of more than {MESSAGE_HEADER_LIMIT} characters")
        if end < 0:
            # The next chunk may bring the second angle of the end.
            self._scanned = max(2, len(text) - source.at - 1)
            return False
        self._take_tag(text[source.at + 2 : end])
        source.at = end + 2
        self._parts = []
        self.events.append(MessageOpened(self.count, Header(role=self._role())))
        return self._go(self._read_break)

    def _take_tag(self, inside: str) -> None:
        source = self._source
        found = _NAME.match(inside)
        self._tag = found.group() if found else ""
        rest = inside[len(self._tag) :]
        if self._tag not in ROLES or (rest and not self._is_tool()) or rest[:1] not in ("", " ", "\t"):
            raise source.error("E-PARSE-FRAME", f"<<{inside[:80]}>> is not a tag")
        self._attributes = self._read_attributes(rest)
        if self._tag == "TOOL_CALL" and not self._attributes.get("name"):
            raise source.error("E-PARSE-HEADER", "a tool call needs its name")

    def _read_attributes(self, text: str) -> dict[str, str]:
        attributes: dict[str, str] = {}
        place = 0
        while found := _ATTRIBUTE.match(text, place):
            key, value = found.groups()
            if key in attributes or not is_attribute_value(value):
                raise self._source.error("E-PARSE-HEADER", f"the attribute {key} stands twice, or holds what none may")
            attributes[key] = value
            place = found.end()
        if text[place:].strip(" \t"):
            raise self._source.error("E-PARSE-HEADER", f'attributes are key="value", not {text[place:][:80]!r}')
        return attributes

    def _read_break(self) -> bool:
        """Skip the line break after the opening tag, if there is one."""
        source = self._source
        # The line feed may come in the next chunk.
        if source.may_become("\r\n"):
            return False
        self._has_crlf = source.begins_with("\r\n")
        if not self._has_crlf:
            source.begins_with("\n")
        return self._go(self._read_body)

    def _read_body(self) -> bool:
        """Read text up to the end tag. A line break that may be the one before it waits for more text."""
        source, text, end_tag = self._source, self._source.text, END_TAGS[self._tag]
        found = text.find(end_tag, source.at)
        held = found if found >= 0 else _hold_back(text, source.at, end_tag)
        if found >= 0:
            held = _before_break(text, source.at, found, self._has_crlf)
        self._add(text[source.at : held])
        source.at = held
        if found < 0:
            return False
        source.at = found + len(end_tag)
        self._close("end")
        return self._go(self._read_line_end)

    def _read_line_end(self) -> bool:
        source, text = self._source, self._source.text
        while source.at < len(text) and text[source.at] in " \t\r":
            source.at += 1
        if source.at == len(text):
            return False
        if text[source.at] != "\n":
            raise source.error("E-PARSE-FRAME", "text behind an end tag")
        return self._go(self._read_between)

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            if not self._is_tool():  # calls and results are not shown
                self.events.append(MessagePiece(text))

    def _close(self, stop: str) -> None:
        body = "".join(self._parts)
        ending = {"stop": "none"} if stop == "none" else {}
        message = self._read_message(body, ending)
        self._add_message(message)

    def _read_message(self, body: str, said: Mapping[str, str]) -> Message:
        texts: tuple[ContentBlock, ...] = (Text(body),) if body else ()
        if not self._is_tool():
            return make_message(self._role(), texts, **said)
        attributes = dict(self._attributes)
        name, block_id = attributes.pop("name", None), attributes.pop("id", None)
        if self._tag == "TOOL_CALL":
            return make_message("assistant", [make_call(name or "", body, id=block_id)], extra=attributes, **said)
        status = attributes.pop("status", None)
        failed = STATUS.get(status or "")
        result = ToolResult(block_id, name, texts, is_error=failed, status=status if failed is None else None)
        return make_message("tool", [result], extra=attributes, **said)

    def _finish(self) -> Message | None:
        source = self._source
        if self._is_in_body():
            # An answer without any text yet is a generation prompt. With text it was cut off.
            if self._tag == "ASSISTANT" and not self._parts and source.at == len(source.text):
                return make_message("assistant", ())
        elif source.at == len(source.text):
            return None
        raise source.error("E-STREAM-TRUNCATED", "the text ends before its last block does", len(source.text))

    def _finish_partially(self) -> str | None:
        """Keep the part of the last block that came; return the raw rest if even its tag is incomplete."""
        if not self._is_in_body():
            return self._source.rest()
        self._add(self._source.rest())
        self._close("none")
        return None

    def _is_in_body(self) -> bool:
        return self._state in (self._read_break, self._read_body)

    def _is_tool(self) -> bool:
        return self._tag in ("TOOL_CALL", "TOOL_RESULT")

    def _role(self) -> str:
        return ROLES[self._tag]


def is_attribute_value(value: str) -> bool:
    """Whether a value can be written between the quotes of an attribute. Spaces are allowed."""
    return not any(
        character in '"<>\\' or (character != " " and unicodedata.category(character) in _REFUSED)
        for character in value
    )


def _before_break(text: str, begin: int, end: int, has_crlf: bool) -> int:
    """The end of a body: before the line break in front of its end tag."""
    # A CR is part of that break only if the opening line ended in CRLF; else it is text.
    if end > begin and text[end - 1] == "\n":
        return end - 2 if has_crlf and end - 1 > begin and text[end - 2] == "\r" else end - 1
    return end


def _hold_back(text: str, begin: int, end_tag: str) -> int:
    """The end of the part of the text that cannot belong to the end tag or the break before it."""
    wholes = (end_tag, "\n" + end_tag, "\r\n" + end_tag)
    first = max(begin, len(text) - len(end_tag) - 1)
    if text.find("<", first) < 0 and not text.endswith(("\n", "\r")):
        return len(text)
    return next(
        (at for at in range(first, len(text)) if any(whole.startswith(text[at:]) for whole in wholes)), len(text)
    )
