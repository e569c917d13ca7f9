"""Hide what looks like a key in a text that comes in pieces, so that no piece shows a part of one.

``secrecy.hide_shapes`` needs a whole text, and a key may come in two pieces. So the end of the text waits as long as
further text could make it a part of a key: a run of the characters that keys are made of, an address, the word after
``Bearer``, a private key up to its last line, base64 up to its end.
"""

from __future__ import annotations

import re
import string

from headish.content.secrecy.hiding import hide_shapes
from headish.content.secrecy.judging import ENCODED, may_begin_key

HELD_CHARACTERS = 16 * 1024
"""The most characters that may wait. Prose has no longer run without a blank."""
_RUN = string.ascii_letters + string.digits + "._~+/-:="
"""The characters of keys and of the beginnings of addresses."""
_LOOKS = 8
_ENDS_LOGIN = re.compile(r"[\s/?#@]")
_SCHEMES, _PRIVATE = ("earer ", "asic "), "-----BEGIN "  # without the first letter, which may be small or large
_ENCODED_GOES_ON = re.compile(r"\r?(?:\n[ \t]*[A-Za-z0-9+/_-]*)?")
_PRIVATE_BEGINS = re.compile(r"-----BEGIN [A-Z ]*-{0,5}")
_PRIVATE_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")


class ShapeFilter:
    """``hide_shapes`` for a text that comes in pieces. ``is_full`` is set when too much waits; then no further piece is
    read."""

    def __init__(self) -> None:
        self._held = ""
        self.is_full = False

    @property
    def waiting(self) -> int:
        """The number of characters that wait."""
        return len(self._held)

    def feed(self, piece: str) -> str:
        """Take a piece; return what can be shown now. Cost: some searches in the piece and in what waits."""
        if self.is_full:
            return ""
        text = self._held + piece
        at = _count_settled(text)
        self._held = text[at:]
        self.is_full = len(self._held) > HELD_CHARACTERS
        return str(hide_shapes(text[:at]))

    @property
    def is_harmless(self) -> bool:
        """Whether no key can begin in what waits."""
        return not self.is_full and not may_begin_key(self._held)

    def finish(self) -> str:
        """Return the rest, when the text is whole; empty if the text was not read to its end."""
        rest, self._held = self._held, ""
        return "" if self.is_full else str(hide_shapes(rest))


def _count_settled(text: str) -> int:
    """The number of characters at the beginning that no further text can make a part of a key; 0 if a few looks do not
    tell."""
    whole = text
    for _ in range(_LOOKS):  # again, because the part that was cut off may have ended something before it
        at = min(_login_at(text), _scheme_at(text), _private_at(text), _encoded_at(whole, len(text)))
        settled = text[:at].rstrip(_RUN)
        if settled == text:
            return len(text)
        text = settled
    return 0


def _login_at(text: str) -> int:
    """The position of an address whose user or password may go on; the end if there is none."""
    at = text.rfind("://")
    if at < 0 or _ENDS_LOGIN.search(text, at + 3):
        return len(text)
    return at


def _scheme_at(text: str) -> int:
    """The position of a ``Bearer`` or ``Basic`` whose token may go on; the end if there is none."""
    occurrences = ((text.rfind(each), each) for each in _SCHEMES)
    open_ = [at for at, each in occurrences if at >= 0 and " " not in text[at + len(each) :].lstrip(" ")]
    return min(open_, default=len(text))


def _encoded_at(text: str, end: int) -> int:
    """The position of base64 that begins before ``end`` and goes on after it, or may go on in another line; ``end`` if
    there is none."""
    for match in re.finditer(ENCODED, text):
        if match.start() >= end:
            break
        if match.end() > end or _ENCODED_GOES_ON.fullmatch(text, match.end()):
            return match.start()
    return end


def _private_at(text: str) -> int:
    """The position of a private key that has not ended; the end of the text if there is none."""
    at = text.find(_PRIVATE)
    while at >= 0:
        beginning = _PRIVATE_BEGINS.match(text, at)
        assert beginning is not None
        if beginning.end() == len(text):
            return at
        behind = at + 1  # the dashes of another beginning may follow at once
        if beginning[0].endswith("PRIVATE KEY-----"):
            ending = _PRIVATE_ENDS.search(text, beginning.end())
            if ending is None:
                return at
            behind = ending.end()
        at = text.find(_PRIVATE, behind)
    return len(text)
