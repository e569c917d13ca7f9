"""The tokens of OpenChatML 0.1 (its README at git 48037ee: the later flattened copy has lost everything in ``<…>``)."""

from __future__ import annotations

import re

IM_START, IM_END = "<|im_start|>", "<|im_end|>"
THOUGHTS = ("reflect", "introspect", "reason")
FUNCTIONS = {"assistant": "function_call", "tool": "function_output", "system": "function_list"}
"""The function block that each role has; in another role the token is a mark."""
NAMES = (
    "fim_prefix", "fim_suffix", "fim_middle", "file_separator", *THOUGHTS,
    *(f"{edge}_{kind}" for kind in THOUGHTS for edge in ("start", "end")),
    "function_list", "function_output", "function_call",
)  # fmt: skip
ANY_TOKEN = re.compile(rf"<\|(?:im_start|im_end|{'|'.join(NAMES)})\|>")
_FRAME = re.compile(r"^<\|start\|>", re.MULTILINE)
BODY_TOKEN = re.compile(rf"<\|({'|'.join(NAMES)})\|>")


def is_framed(text: str) -> bool:
    """Whether a text is one of OpenChatML 2.x: a frame begins on a line before any token of 0.1 (2.2 §13)."""
    frame = _FRAME.search(text)
    if frame is None or "<|message|>" not in text:
        return False
    token = BODY_TOKEN.search(text)
    return token is None or frame.start() < token.start()
