"""The text that a parser has not consumed yet, and its position in the whole input.

Input comes in any chunks. A parser reads ``text`` from ``at`` on and moves ``at``; what lies before it is dropped when
the next chunk comes, so memory is bounded by what a format makes a parser wait for.
"""

from __future__ import annotations

from headish.errors import InvalidTranscript

BLANKS = " \t\r\n"


class SourceText:
    """A buffer with a cursor that knows its line and column in the whole input."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.text = ""
        self.at = 0
        self._line, self._column = 1, 1

    def add(self, chunk: str) -> None:
        """Add input after what is left."""
        if self.at:
            self._line, self._column = self._position(self.at)
        self.text = self.text[self.at :] + chunk
        self.at = 0

    def rest(self) -> str:
        """Consume and return all that is left."""
        rest, self.at = self.text[self.at :], len(self.text)
        return rest

    def skip_blanks(self) -> None:
        """Move over spaces, tabs and line breaks."""
        text, at = self.text, self.at
        while at < len(text) and text[at] in BLANKS:
            at += 1
        self.at = at

    def begins_with(self, token: str) -> bool:
        """Whether the token is next; if so, it is consumed."""
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def may_become(self, token: str) -> bool:
        """Whether what is left may become the token: it is a beginning of it, and too short to tell."""
        return len(self.text) - self.at < len(token) and token.startswith(self.text[self.at :])

    def error(self, code: str, reason: str, at: int | None = None) -> InvalidTranscript:
        """An error at an index of ``text``, by default at the cursor."""
        return InvalidTranscript(code, self.format, reason, *self._position(self.at if at is None else at))

    def _position(self, at: int) -> tuple[int, int]:
        breaks = self.text.count("\n", 0, at)
        if not breaks:
            return self._line, self._column + at
        return self._line + breaks, at - self.text.rindex("\n", 0, at)
