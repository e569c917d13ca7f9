"""Check that a file can be of the format that the caller named.

A format that was named wrongly would leave out record after record, or break on each. What a file is can be told where
it bears the marks of another format and none of its own; else the reader decides.
"""

from __future__ import annotations

import re
from typing import Final

from headish.errors import InvalidImport
from headish.imports.archives import CHUNK_BYTES, ZIP
from headish.imports.cleaning import NotJson, decode
from headish.imports.detection import PARQUET, SQLITE, detect_beginning, marks_of
from headish.imports.reader import ImportSource

_ROWS = ("hf", "sharegpt", "openai-finetune", "openai-log")
_CONTAINERS: Final = (
    (ZIP, "a ZIP archive", ("chatgpt", "claude", "inspect")),
    (SQLITE, "an SQLite database", ("llm", "openai-agents", "langgraph", "open-webui")),
    (PARQUET, "a parquet file", _ROWS),
)
"""What a file may be that is no text, and which formats are found in it."""
_UTF16 = re.compile(rb"\xff\xfe|\xfe\xff|\0[\[{\"<]|[\[{\"<]\0")
UTF16 = "it is UTF-16 and not UTF-8; convert it, for instance with iconv -f UTF-16 -t UTF-8"
_JSON_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*[\[{]", re.M)
"""A file may begin with a broken line, and be read from the next one on."""


def refuse_encoding(beginning: bytes, name: str) -> None:
    """Raises: InvalidImport for text in UTF-16, as some programs of Windows write it."""
    if is_utf16(beginning):
        raise InvalidImport(name, None, UTF16)


def is_utf16(beginning: bytes) -> bool:
    """Whether a text begins as one in UTF-16 does."""
    return _UTF16.match(beginning) is not None


def check_fits(given: ImportSource, format: str) -> None:
    """Look at the beginning of a file before it is read as a format.

    Raises: InvalidImport for what the format cannot be found in, and for a file of another format.
    """
    if given.server is not None or not given.file.seekable():
        return
    beginning = _beginning(given)
    refuse_encoding(beginning, given.name)
    for magic, what, formats in _CONTAINERS:
        if beginning.startswith(magic):
            if format not in formats:
                raise InvalidImport(given.name, None, f"it is {what}, and {format} is read from none")
            return
    if format in _CONTAINERS[1][2][:3]:
        return  # their reader says that it is no database
    if beginning.strip() and not _JSON_LINE.search(beginning) and not _is_json(beginning):
        raise InvalidImport(given.name, None, f"it is no JSON, as a file of {format} is")
    marks = marks_of(beginning)
    if marks - set(_ROWS) and format not in marks and format not in _ROWS:
        seen = detect_beginning(beginning) or min(marks)
        raise InvalidImport(given.name, None, f"it is no file of {format}; it looks like one of {seen}")


def refuse_nothing(given: ImportSource, format: str) -> None:
    """Refuse a file of another format, in which the reader found nothing, and nothing broken either.

    Raises: InvalidImport where the file holds something, and bears no mark of the format.
    """
    if given.server is not None or not given.file.seekable():
        return
    beginning = _beginning(given)
    if not beginning.strip(b"\xef\xbb\xbf \t\r\n\0") or beginning.startswith((ZIP, SQLITE, PARQUET)):
        return
    seen = detect_beginning(beginning)
    if seen != format:
        told = f"; it looks like a file of {seen}" if seen else ""
        raise InvalidImport(given.name, None, f"it holds nothing of {format}{told}")


def _is_json(beginning: bytes) -> bool:
    """Whether the first line is JSON, such as a number."""
    try:
        decode(beginning.strip().split(b"\n", 1)[0])
    except NotJson:
        return False
    return True


def _beginning(given: ImportSource) -> bytes:
    given.file.seek(0)
    beginning = given.file.read(CHUNK_BYTES)
    given.file.seek(0)
    return beginning
