"""The body of a frame while it is read: pieces of plain and literal text, and the texts that they make."""

from __future__ import annotations

from headish.values.blocks import Text


class BodyBlocks:
    """Collects a body in normal form: plain text is one block, each literal block is its own."""

    def __init__(self) -> None:
        self._texts: list[Text] = []
        self._plain: list[str] = []
        self._literal: list[str] | None = None

    def add(self, text: str) -> None:
        """More text, literal inside a literal block."""
        (self._plain if self._literal is None else self._literal).append(text)

    def begin_literal(self) -> None:
        """A literal block begins."""
        self._literal = []

    def end_literal(self) -> None:
        """It ends. One that holds only angles is how a text that ends in them is written: plain text."""
        text, self._literal = "".join(self._literal or ()), None
        if not text.strip("<"):
            self._plain.append(text)
            return
        self._end_plain()
        self._texts.append(Text(text, True))

    def end(self) -> tuple[Text, ...]:
        """The texts, when no more come."""
        if self._literal is not None:
            self.end_literal()
        self._end_plain()
        return tuple(self._texts)

    def _end_plain(self) -> None:
        text = "".join(self._plain)
        self._plain = []
        if text:
            self._texts.append(Text(text))
