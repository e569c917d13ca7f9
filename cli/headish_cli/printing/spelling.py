"""Errors as the command spells them. The library names Python's arguments, often beside the command's options."""

from __future__ import annotations

import re

_SPELLINGS = (
    # Beside the command's own: only that stays. Each has its neighbours, because the name of a file may look like one.
    (r"(--[a-z-]+(?: [a-z, ]+)?) \((?:(?:plain|allow_secrets|accept_rollback)=True|format= in Python)\)", r"\1"),
    (r"\([a-z_]+=\w*, ((?:headish add )?--?[a-z-]+)\)", r"(\1)"),
    (r"\((--[a-z-]+), [a-z_]+=\w+\)", r"(\1)"),
    (r"\(only= and to=, ", "("),
    (r"\bcontinues= or (?=-c\b)", ""),
    (r"\bread_only=True, (?=--read-only)", ""),
    (r"(?<=--create), or create=True,", ","),
    (r", or add_turn\(…, role='system'\)", ""),
    (r"\bStore\.at_least and --at-least wait ", "--at-least waits "),
    # Alone: the option in its place.
    (r"\bbudget='auto' needs a pointer with a context_window", "--budget auto needs a pointer with a context window"),
    (r"\bover=(?=\S+ is a share)", "--over "),
    (r"\bsince='?([^' ]+)'? is behind until='?([^' ]+)'?", r"--since \1 is behind --until \2"),
    (r"\bexpect needs a bookmark: give bookmark=", "--expect needs a bookmark: give -b"),
    (r"\bgive (sign|keep)=True\b", r"give --\1"),
    (r"\bgrant it role='(\w+)'", r"grant it --role \1"),
    (r"\b(leave out|variable with) key_env\b", r"\1 --key-env"),
    (r"\bwith_reasoning is for JSON with for_training\b", "--with-reasoning is for JSON with --for-training"),
    (r"\bfor_training(?= is what a trainer)", "--for-training"),
    (r"^said_at(?= (?:lies|needs|takes)\b)", "--said-at"),
    (r"^content_type(?= is a media type)", "--content-type"),
    (r"\bto= renames\b", "--as renames"),
    (r"\b(which one|other spaces) with only=", r"\1 with --only"),
)  # fmt: skip


_QUOTED = r"""(?<!\w)(['"]).*?\1(?!\w)"""


def spell(message: str) -> str:
    """A message of the library in the words of the command. What it quotes stays as somebody typed it."""
    for spelling, own in _SPELLINGS:
        quoted = [each.span() for each in re.finditer(_QUOTED, message)]
        found = [each for each in re.finditer(spelling, message) if not _is_inside(each, quoted)]
        for match in reversed(found):
            message = message[: match.start()] + match.expand(own) + message[match.end() :]
    return message


def _is_inside(match: re.Match[str], quoted: list[tuple[int, int]]) -> bool:
    return any(start < match.start() and match.end() < end for start, end in quoted)
