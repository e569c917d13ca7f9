"""A table of the forms of OpenChatML 2.x: what the one parser and the one writer need to know of each.

``2.2`` and ``2.0`` are files; ``harmony`` is the wire form that gpt-oss reads and writes. Where the three differ, and
why: docs/reference/formats/.
"""

from __future__ import annotations

import re

from msgspec import Struct

from headish.values.checks.attributes import CHANNELS as CHANNELS

ROLES = ("system", "developer", "user", "assistant", "tool")
PEOPLE = ("user", "assistant", "system", "developer", "all")
"""Recipients that are not tools."""
START = "<|start|>"
FUNCTIONS = "functions."
TERMINATORS = {"end": "<|end|>", "call": "<|call|>", "return": "<|return|>", "none": ""}
ATTRIBUTE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class FrameForm(Struct, frozen=True, kw_only=True):
    """One form of OpenChatML 2.x.

    ``known``: the attributes that have a meaning, in canonical order; ``reply_order``: those of role tool.
    ``separator``: the text between frames. ``bare_words``: how many words without a key a header may have. ``opaque``:
    in a body only the terminators are tokens. ``replies_by_role``: a reply has its tool's name in place of the role.
    """

    name: str
    title: str
    tokens: tuple[str, ...]
    known: tuple[str, ...]
    reply_order: tuple[str, ...]
    separator: str
    ends_in_line_break: bool
    has_header: bool = True
    escapes: bool = False
    constrains: bool = False
    bare_words: int = 0
    opaque: bool = False
    replies_by_role: bool = True

    @property
    def token(self) -> re.Pattern[str]:
        """The pattern of any control token of this form; its group is the token's name."""
        return TOKEN[self.name]


FORMS = {
    "2.2": FrameForm(
        name="2.2", title="OpenChatML 2.2",
        tokens=("start", "channel", "message", "call", "constrain", "return", "end", "literal", "endliteral"),
        known=("to", "call_id", "name", "intent", "content_type"),
        reply_order=("name", "call_id", "to", "intent", "content_type"),
        separator="\n", ends_in_line_break=True, escapes=True, constrains=True, replies_by_role=False,
    ),
    "2.0": FrameForm(
        name="2.0", title="OpenChatML 2.0",
        tokens=("start", "channel", "message", "call", "return", "end"),
        known=("to", "name"), reply_order=("to", "name"),
        separator="\n\n", ends_in_line_break=True,
    ),
    # Harmony's own parser fails at a line break between frames, and reads only terminators as tokens in a body.
    "harmony": FrameForm(
        name="harmony", title="Harmony",
        tokens=("start", "channel", "message", "call", "constrain", "return", "end"),
        known=("to", "call_id", "name", "intent", "content_type"), reply_order=("to", "name"),
        separator="", ends_in_line_break=False,
        has_header=False, constrains=True, bare_words=2, opaque=True,
    ),
}  # fmt: skip
TOKEN = {name: re.compile(rf"<\|({'|'.join(form.tokens)})\|>") for name, form in FORMS.items()}


def form_of_version(version: str) -> str | None:
    """The form that a header's version picks; None for a major version that is not read here."""
    major, _, minor = version.partition(".")
    if major == "2":
        return "2.0" if minor in ("", "0") else "2.2"
    return "2.0" if major == "1" else None


def is_builtin(name: str) -> bool:
    """Whether a tool is built in: its name needs no ``functions.`` before it."""
    return name in ("python", "browser") or (name.startswith("browser.") and len(name) > len("browser."))


def qualified(name: str) -> str:
    """A tool's name as 2.x writes it: ``functions.`` before it, unless it is there or the tool is built in."""
    return name if name.startswith(FUNCTIONS) or is_builtin(name) else FUNCTIONS + name


def is_tool_role(word: str) -> bool:
    """Whether the first word of a header is the name of a tool (Harmony's way)."""
    return is_builtin(word) or (word.startswith(FUNCTIONS) and len(word) > len(FUNCTIONS))
