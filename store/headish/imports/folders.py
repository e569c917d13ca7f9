"""Which files of a folder are imported, and in which order.

A coding agent keeps more in its folder than its sessions; where sessions are found, nothing else is read. Older
sessions come first, because newer ones lean on them. A link that leads out of the folder is not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from headish.imports.files import read_beginning
from headish.imports.sources import detect_beginning

LOGS = {
    "claude-code": (".jsonl",), "codex": (".jsonl", ".jsonl.zst"), "gemini-cli": (".jsonl", ".json"),
}  # fmt: skip
"""The endings of the files that hold a program's sessions."""
_TIME = re.compile(rb'"(?:timestamp|startTime)"\s*:\s*"([^"]{1,40})"')


def files_in(path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """The path itself, or of a folder the files that are to be imported; hidden ones are left out.

    Those of a program's sessions (or of ``format``) alone, by the time of their first record; else all, by name.
    """
    if not os.path.isdir(path):
        return [os.fspath(path)]
    found = list_files(path)
    logs = choose_sessions(found, format)
    return logs if logs or format in LOGS else [str(each) for each in found]


def list_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files of a folder, sorted by name. Hidden ones are left out, and links that lead out of it."""
    root = Path(path)
    found = sorted(each for each in root.rglob("*") if not each.name.startswith(".") and _is_inside(each, root))
    return _without_payloads(found)


def choose_sessions(files: Iterable[Path], format: str | None = None) -> list[str]:
    """The sessions of programs, or of one, by the time of their first record. Cost: reads the beginning of each."""
    formats = LOGS.keys() if format is None else LOGS.keys() & {format}
    logs = [(begun, each) for each in files for begun in _beginnings(each, formats)]
    return [str(each) for _, each in sorted(logs)]


def _beginnings(path: Path, formats: Iterable[str]) -> list[bytes]:
    """When a session's file begins; nothing where it is none of the formats, or empty."""
    if not any(path.name.endswith(LOGS[format]) for format in formats):
        return []
    if path.name.endswith(".zst") and path.with_suffix("").exists():
        return []  # unpacked already
    beginning = read_beginning(path)
    if beginning is None:
        return [b""]  # the import itself says what is wrong with it
    if detect_beginning(beginning) not in set(formats):
        return []
    time = _TIME.search(beginning)
    return [b"" if time is None else time[1]]


def _is_inside(path: Path, root: Path) -> bool:
    if not path.is_file():
        return False
    return not path.is_symlink() or path.resolve().is_relative_to(root.resolve())


def _without_payloads(found: list[Path]) -> list[Path]:
    """Beside a file of frames lies the folder of their payloads, which its reader opens."""
    payloads = {each.parent / "cas" for each in found if each.name == "frames.jsonl"}
    return [each for each in found if each.parent not in payloads] if payloads else found
