"""Which format a text is written in, told by its beginning. Harmony is never guessed: only the caller knows the wire.

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
"""What to do about a text whose format is not recognised; the reason comes first."""


@door()
def detect(data: str | bytes) -> str:
    """The format of a text: ``2.0`` or ``2.2`` by a 2.x file's header, ``v0.1`` or ``rwkv``.

    Raises: InvalidTranscript (E-PARSE-DETECT where none is recognised, E-PARSE-ENCODING).
    """
    text = decode(data).removeprefix("\ufeff").lstrip(BLANKS)
    opened = _by_opening(text)
    if opened is not None:
        return opened
    if _FRAME_LINE.search(text) or _VERSION_LINE.search(text):
        return _by_header(text)
    if BODY_TOKEN.search(text) or "<|im_start|>" in text or "<|im_end|>" in text:
        return "v0.1"
    raise InvalidTranscript("E-PARSE-DETECT", None, NAME_IT.format("no format is recognised"), 1, 1)


def detect_beginning(data: bytes) -> str | None:
    """The format of a text of which more may come; None while that is not sure.

    A YAML header is no longer than ``MESSAGE_HEADER_LIMIT``: at twice that, what has come decides.
    Raises: InvalidTranscript (E-PARSE-DETECT).
    """
    text = data.decode(errors="ignore").removeprefix("\ufeff").lstrip(BLANKS)
    opened = _by_opening(text)
    if opened is None and _FRAME_LINE.search(text):
        return _by_header(text)
    return detect(text) if opened is None and len(text) > 2 * MESSAGE_HEADER_LIMIT else opened


def _by_header(text: str) -> str:
    """The form of a 2.x file, by the version that stands before its first frame."""
    frame = _FRAME_LINE.search(text)
    version = _VERSION_LINE.search(text, 0, frame.start() if frame is not None else len(text))
    return (version and form_of_version(version[1])) or "2.2"


def _by_opening(text: str) -> str | None:
    return next((format for opening, format in _OPENINGS.items() if text.startswith(opening)), None)


def decode(data: str | bytes) -> str:
    """The text of some bytes. Raises: InvalidTranscript (E-PARSE-ENCODING)."""
    try:
        if isinstance(data, str):
            data.encode()
            return data
        return data.decode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        before = data[:at] if isinstance(data, str) else data[:at].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise InvalidTranscript("E-PARSE-ENCODING", None, "this is not UTF-8", line, column) from None
