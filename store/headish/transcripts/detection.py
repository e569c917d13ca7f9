"""Detect the format of a text by its beginning. Harmony is never guessed: only the caller knows that a text comes from
the wire.

The first rule that matches wins; blanks and a byte order mark at the start do not count.
"""

from __future__ import annotations

import re

from headish.errors import InvalidTranscript
from headish.transcripts.chatml01.blocks import BODY_TOKEN
from headish.transcripts.formats import FORMATS
from headish.transcripts.openchatml.forms import form_of_version
from headish.transcripts.shared.source import BLANKS
from headish.values.checks.doors import door
from headish.values.limits import MESSAGE_HEADER_LIMIT

_OPENINGS = {
    "<|start|>": "2.2", "[BOS]": "v0.1", "<|im_start|>": "v0.1",
    **dict.fromkeys(("<<SYS>>", "<<USER>>", "<<ASSISTANT>>", "<<TOOL_CALL", "<<TOOL_RESULT"), "rwkv"),
}  # fmt: skip
_FRAME_LINE = re.compile(r"^<\|start\|>", re.MULTILINE)
_VERSION_LINE = re.compile(r"""^(?:version|"version"|'version')[ \t]*:[ \t]*["']?([0-9.]*)""", re.MULTILINE)

NAME_IT = f"{{}}; name it with --from (format= in Python): {', '.join(FORMATS)}"
"""The message about a text whose format is not recognised; ``{}`` is the reason."""


@door()
def detect(data: str | bytes) -> str:
    """The format of a text: ``2.0`` or ``2.2`` by a 2.x file's header, ``v0.1`` or ``rwkv``.

    Raises: InvalidTranscript (E-PARSE-DETECT where none is recognised, E-PARSE-ENCODING).
    """
    text = decode(data).removeprefix("\ufeff").lstrip(BLANKS)
    format = _by_opening(text)
    if format is not None:
        return format
    if _FRAME_LINE.search(text) or _VERSION_LINE.search(text):
        return _by_header(text)
    if BODY_TOKEN.search(text) or "<|im_start|>" in text or "<|im_end|>" in text:
        return "v0.1"
    raise InvalidTranscript("E-PARSE-DETECT", None, NAME_IT.format("no format is recognised"), 1, 1)


def detect_beginning(data: bytes) -> str | None:
    """The format of a text of which more may come; None while it is not certain.

    A YAML header has at most ``MESSAGE_HEADER_LIMIT`` characters: after twice as many, what has come decides.
    Raises: InvalidTranscript (E-PARSE-DETECT).
    """
    # The text so far may end inside a character.
    text = data.decode(errors="ignore").removeprefix("\ufeff").lstrip(BLANKS)
    opened = _by_opening(text)
    if opened is None and _FRAME_LINE.search(text):
        return _by_header(text)
    return detect(text) if opened is None and len(text) > 2 * MESSAGE_HEADER_LIMIT else opened


def _by_header(text: str) -> str:
    """The form of a 2.x file, by the version in the header before its first frame."""
    frame = _FRAME_LINE.search(text)
    version = _VERSION_LINE.search(text, 0, frame.start() if frame is not None else len(text))
    # The parser of 2.2 refuses a version that is not read here, with line and column.
    return (version and form_of_version(version[1])) or "2.2"


def _by_opening(text: str) -> str | None:
    return next((format for opening, format in _OPENINGS.items() if text.startswith(opening)), None)


def decode(data: str | bytes) -> str:
    """Decode UTF-8. Raises: InvalidTranscript (E-PARSE-ENCODING), also for a string with a lone surrogate."""
    try:
        if isinstance(data, str):
            data.encode()  # only to find lone surrogates
            return data
        return data.decode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        before = data[:at] if isinstance(data, str) else data[:at].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise InvalidTranscript("E-PARSE-ENCODING", None, "this is not UTF-8", line, column) from None
