"""Handles: the short names of turns that lists show and people type (rule R25, handles).

A handle is the beginning of a turn's digest in the letters k to z instead of hexadecimal digits, so that it is never
mistaken for an id or a number. Turns with the same digest, *twins*, are told apart by the last digits of their ids:
``HANDLE:XX``.
"""

from __future__ import annotations

import re

from msgspec import Struct

LETTERS = "klmnopqrstuvwxyz"
HANDLE_MINIMUM = 6
"""The fewest letters of a handle: those of 24 bits."""
HANDLE_LETTERS = 16
"""The most letters that a list shows: those of the eight bytes of a digest that are indexed."""
TWIN_DIGITS = 2
"""The fewest digits of an id after a handle."""
# At most all letters of a digest, and all digits of an id.
_HANDLE = r"([k-z]{6,64})(?::([0-9a-z]{2,25}))?"
_TO_LETTERS = str.maketrans("0123456789abcdef", LETTERS)
_TO_DIGITS = str.maketrans(LETTERS, "0123456789abcdef")


class Handle(Struct, frozen=True):
    """A handle, taken apart: the letters, and the last digits of the id where they were given."""

    letters: str
    end: str = ""

    @property
    def bounds(self) -> tuple[bytes, bytes]:
        """The lowest and the highest digest that begin with these letters."""
        digits = self.letters.translate(_TO_DIGITS)
        return bytes.fromhex(digits.ljust(64, "0")), bytes.fromhex(digits.ljust(64, "f"))


def as_handle(text: str) -> Handle | None:
    """Parse a handle, in either case; None if the text cannot be one."""
    match = re.fullmatch(_HANDLE, text.lower(), re.ASCII)
    return Handle(match[1], match[2] or "") if match else None


def is_twin_shaped(text: str) -> bool:
    """Whether the text is a handle followed by digits of an id, which no bookmark can look like."""
    handle = as_handle(text)
    return handle is not None and bool(handle.end)


def letters_of(digest: bytes) -> str:
    """All letters of a digest, or of its beginning."""
    return digest.hex().translate(_TO_LETTERS)


def shared_letters(one: str, other: str) -> int:
    """How many letters two texts have in common at their beginning."""
    return next((index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
