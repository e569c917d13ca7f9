"""Check the names of bookmarks and spaces, and say why a name is refused.

A name must never be mistaken for an id, for a suffix of a headish, or for an option on a command line, and must be
printable on one line. A new name must not look like another one either: it is in Unicode's normal form NFC, and holds
no character that cannot be seen.
"""

from __future__ import annotations

import unicodedata
from enum import Enum

from headish.errors import InvalidArgument, InvalidName, shown
from headish.values.ids import TurnId, as_turn_id, is_id_shaped
from headish.values.limits import BOOKMARK_LIMIT_BYTES

RESERVED = "~^@{}:\\"


class Absent(Enum):
    """The value of ``expect=`` for a name that must not exist yet."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


def check_name(name: object, kind: str = "bookmark", *, is_new: bool = False) -> bytes:
    """Check a name and return the bytes that are stored. ``is_new``: it is given now, not looked up.

    Raises: InvalidName with the rule that refuses it.
    """
    if not isinstance(name, str):
        raise InvalidName(kind, shown(name), "it must be text")
    reason = new_refusal(name) if is_new else refusal(name)
    if reason is not None:
        # The error is printed, and a lone surrogate cannot be.
        raise InvalidName(kind, name.encode(errors="backslashreplace").decode(), reason)
    return name.encode()


def stored_name(name: bytes) -> str:
    """A stored name as text; bytes that were damaged behind the store's back show as U+FFFD."""
    return name.decode(errors="replace")


def refusal(name: str) -> str | None:
    """Why the text is not a name, or None if it is one."""
    if not name:
        return "it is empty"
    if is_id_shaped(name):
        return "25 base-36 digits are an id"
    if name.startswith("-"):
        return "it begins with `-`"
    for character in name:
        reason = _character_refusal(character)
        if reason is not None:
            return reason
    if len(name.encode()) > BOOKMARK_LIMIT_BYTES:
        return f"it is longer than {BOOKMARK_LIMIT_BYTES} bytes"
    return None


def new_refusal(name: str) -> str | None:
    """Why the text cannot be given as a name from now on, or None if it can. Older names may break these rules."""
    if ".." in name:  # ``a..b`` is a range of turns
        return "it holds `..`"
    hidden = next((each for each in name if unicodedata.category(each) == "Cf"), None)
    if hidden is not None:
        return f"it holds U+{ord(hidden):04X}, a character that cannot be seen"
    if not unicodedata.is_normalized("NFC", name):
        return "it is not in Unicode's normal form NFC, so it would look like another name"
    return refusal(name)


def _character_refusal(character: str) -> str | None:
    if character in RESERVED:
        return f"it holds {character!r}, one of {' '.join(RESERVED)}"
    category = unicodedata.category(character)
    if category[0] == "Z" or character.isspace():
        return "it holds whitespace"
    if category == "Cc":
        return f"it holds the control character U+{ord(character):04X}"
    return "it holds a lone surrogate" if category == "Cs" else None


def read_expect(expect: object) -> TurnId | Absent | None:
    """Read where a bookmark must be before it moves: at a turn, absent, or anywhere (None). Raises: InvalidArgument."""
    if expect is None or isinstance(expect, Absent):
        return expect
    expected = as_turn_id(expect) if isinstance(expect, str) else None
    if expected is None:
        raise InvalidArgument(f"expect takes the 25 digits of a turn id or ABSENT, not {shown(expect)}")
    return expected
