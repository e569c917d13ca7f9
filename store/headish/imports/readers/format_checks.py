"""Check that a file can be of the format that the caller named.

Under a wrong name, a reader would leave out record after record, or break on each. So a file is refused if it has the
marks of another format and none of its own; in all other cases the reader decides.
"""

from __future__ import annotations

import re
from typing import Final

from headish.errors import InvalidImport
from headish.imports.archives import CHUNK_BYTES, ZIP
from headish.imports.cleaning import is_json
from headish.imports.detection import PARQUET, SQLITE, detect_beginning, marks_of
from headish.imports.reader import ImportSource
from headish.imports.unpacking import peek

_ROWS = ("hf", "sharegpt", "openai-finetune", "openai-log")
_CONTAINERS: Final = (
    (ZIP, "a ZIP archive", ("chatgpt", "claude", "inspect")),
    (SQLITE, "an SQLite database", ("llm", "openai-agents", "langgraph", "open-webui")),
    (PARQUET, "a parquet file", _ROWS),
)
"""The kinds of binary files, and the formats that come in them."""
_UTF16 = re.compile(rb"\xff\xfe|\xfe\xff|\0[\[{\"<]|[\[{\"<]\0")
UTF16 = "it is UTF-16 and not UTF-8; convert it, for instance with iconv -f UTF-16 -t UTF-8"
_JSON_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*[\[{]", re.M)
"""A line that may be JSON. Any line counts: the first one may be broken, and the rest can still be read."""


def refuse_encoding(beginning: bytes, name: str) -> None:
    """Refuse text in UTF-16, which some Windows programs write. Raises: InvalidImport."""
    if is_utf16(beginning):
        raise InvalidImport(name, None, UTF16)


def is_utf16(beginning: bytes) -> bool:
    """Whether a text begins like one in UTF-16."""
    return _UTF16.match(beginning) is not None


def check_fits(given: ImportSource, format: str) -> None:
    """Check the beginning of a file before reading it as a format.

    Raises: InvalidImport for a file that cannot hold the format, or has the marks of another.
    """
    if given.server is not None or not given.file.seekable():
        return
    beginning = _beginning(given)
    refuse_encoding(beginning, given.name)
    for magic, what, formats in _CONTAINERS:
        if beginning.startswith(magic):
            if format not in formats:
                raise InvalidImport(given.name, None, f"it is {what}; headish reads no {format} from one")
            return
    if format in _CONTAINERS[1][2][:3]:
        return  # their readers refuse what is not a database
    # The first line may be other JSON, such as a number.
    if beginning.strip() and not _JSON_LINE.search(beginning) and not is_json(beginning.strip().split(b"\n", 1)[0]):
        raise InvalidImport(given.name, None, f"it is not JSON, as a file of {format} is")
    marks = marks_of(beginning)
    # Rows may hold anything, marks of other formats too; and their own marks (``messages``) are in many files.
    if marks - set(_ROWS) and format not in marks and format not in _ROWS:
        seen = detect_beginning(beginning) or min(marks)
        raise InvalidImport(given.name, None, f"it is not a file of {format}; it looks like one of {seen}")


def refuse_nothing(given: ImportSource, format: str) -> None:
    """Refuse a file of another format in which the reader found nothing, not even something broken.

    Raises: InvalidImport if the file is not empty, and has no mark of the format.
    """
    if given.server is not None or not given.file.seekable():
        return
    beginning = _beginning(given)
    if not beginning.strip(b"\xef\xbb\xbf \t\r\n\0") or beginning.startswith((ZIP, SQLITE, PARQUET)):
        return
    seen = detect_beginning(beginning)
    if seen != format:
        hint = f"; it looks like a file of {seen}" if seen else ""
        raise InvalidImport(given.name, None, f"it holds nothing of {format}{hint}")


def _beginning(given: ImportSource) -> bytes:
    given.file.seek(0)
    return peek(given.file, CHUNK_BYTES)
