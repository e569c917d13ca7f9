"""The Python of a documentation page, run in this process: for pages whose frameworks only some environments have."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def run_page(name: str) -> list[tuple[str, str]]:
    """What each ``python`` block of a page prints, and what the ``text`` block behind it says. They share a module."""
    found = [(each[1], each[2]) for each in _FENCE.finditer((HOW_TO / name).read_text("utf-8"))]
    names: dict[str, object] = {"__name__": "page"}
    told = []
    for (language, text), (following, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, name, "exec", dont_inherit=True), names)
            told.append((printed.getvalue(), expected if following == "text" else ""))
    return told
