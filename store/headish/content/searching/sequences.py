r"""Ignore terminal control sequences when indexing: colours and cursor moves (``\x1b[31m``) are not words.

Tools colour what they print, often inside a word. A colour is left out, so that the word stays whole; any other
sequence separates words, as it does on the screen. Titles and the addresses of links stay, since they hold words. An
escape that no tool prints is left as it is, because its letter may belong to a word.
Source: ECMA-48, 5th edition, sections 5.4 (control sequences) and 8.3.117 (SGR); ISO/IEC 2022 (``\x1b(B``), which
``tput sgr0`` prints; xterm's control sequences (``\x1b]``: OSC).
"""

from __future__ import annotations

import re

ESCAPE = "\x1b"
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*([@-~])"  # CSI: numbers, and the letter that says what it does
    r"|\x1b\][0-9]*;?"  # OSC: the number alone, since the title or link after it holds words
    r"|\x1b[()*+][0-9A-Z]|\x1b[78]"  # choose a character set; save and restore the cursor
)
_INSIDE_WORDS = ("m", "K")
"""Colours, and clearing the rest of the line: ``grep --color`` prints both around each match, inside words too."""


def without_sequences(text: str) -> str:
    """The text as a terminal shows it, as far as words go. Linear."""
    return _SEQUENCE.sub(_shown, text) if ESCAPE in text else text


def places_without(text: str) -> list[int]:
    """The index in the text of each character of ``without_sequences``, and last the length of the text."""
    places: list[int] = []
    at = 0
    for sequence in _SEQUENCE.finditer(text):
        places += range(at, sequence.start())
        places += [sequence.start()] * len(_shown(sequence))
        at = sequence.end()
    return [*places, *range(at, len(text) + 1)]


def _shown(found: re.Match[str]) -> str:
    return "" if found[1] in _INSIDE_WORDS else " "
