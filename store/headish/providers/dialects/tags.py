"""Reasoning between tags at the beginning of a content: ``<think>…</think>``, in whatever pieces it arrives.

A tag counts only if the content begins with it, apart from white space: what a model writes *about* such tags stays
text. The white space around a tag is kept with the tag. So reasoning and text begin and end without any, and all of it
can be written again to the letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SPACE_LIMIT = 256
"""The number of characters of white space before or after a tag that belong to it. More of it is text or reasoning, so
that endless white space is not held back."""


class TaggedPiece(NamedTuple):
    """A piece of content: text, or reasoning. ``opened`` is the tag before the reasoning, ``closed`` the one after it;
    both include the white space around them, and come once."""

    text: str
    is_thought: bool = False
    opened: str | None = None
    closed: str | None = None


class TagSplitter:
    """Splits a content. ``feed`` gives the pieces that are certain; ``flush`` gives the rest, if something else
    begins."""

    def __init__(self, tags: tuple[str, ...]) -> None:
        self._tags = tuple(f"<{tag}>" for tag in tags)
        self._held = ""
        self._opened = self._ending = self._closed = ""
        self._read = self._begin

    def feed(self, piece: str) -> Iterator[TaggedPiece]:
        """The pieces that a piece of content makes certain."""
        self._held += piece
        yield from self._read()

    def flush(self) -> Iterator[TaggedPiece]:
        """The pieces that were held back. A tag that is open stays open."""
        held, self._held = self._held, ""
        if self._read == self._think:
            if self._opened or held:
                yield TaggedPiece(held, is_thought=True, opened=self._take_opened())
        elif self._read == self._end:
            yield TaggedPiece("", is_thought=True, closed=self._closed + held)
            self._read = self._say
        else:
            self._read = self._say
            if held:
                yield TaggedPiece(held)

    # The states. Each reads the held text as far as it is certain.

    def _begin(self) -> Iterator[TaggedPiece]:
        content = self._held.lstrip()
        tag = next((tag for tag in self._tags if content.startswith(tag)), None)
        if tag is not None:
            cut = len(self._held) - len(content) + len(tag)
            self._opened, self._held = self._held[:cut], self._held[cut:]
            self._ending, self._read = f"</{tag[1:]}", self._think
            yield from self._think()
        elif len(self._held) > SPACE_LIMIT or not any(tag.startswith(content) for tag in self._tags):
            self._read = self._say
            yield from self._say()

    def _think(self) -> Iterator[TaggedPiece]:
        thought, ending, behind = self._held.partition(self._ending)
        if ending:
            reasoning = thought.rstrip()
            yield TaggedPiece(*self._thought(reasoning), opened=self._take_opened())
            self._closed, self._held, self._read = thought[len(reasoning) :] + ending, behind, self._end
            yield from self._end()
            return
        # The end of the text may be the beginning of the closing tag, so that much is held back.
        whole = self._held[: len(self._held) - _beginning_at_end(self._held, self._ending)]
        reasoning = whole.rstrip() if len(whole) - len(whole.rstrip()) <= SPACE_LIMIT else whole
        self._held = self._held[len(reasoning) :]
        if reasoning:
            yield TaggedPiece(*self._thought(reasoning), opened=self._take_opened())

    def _end(self) -> Iterator[TaggedPiece]:
        content = self._held.lstrip()
        space = len(self._held) - len(content)
        if not content and space <= SPACE_LIMIT:
            return
        closed, self._held, self._read = self._closed + self._held[:space], content, self._say
        yield TaggedPiece("", is_thought=True, closed=closed)
        yield from self._say()

    def _say(self) -> Iterator[TaggedPiece]:
        held, self._held = self._held, ""
        if held:
            yield TaggedPiece(held)

    def _thought(self, said: str) -> tuple[str, bool]:
        """A piece of reasoning. Its leading white space goes to the tag before it."""
        if self._opened:
            thought = said.lstrip()
            self._opened += said[: len(said) - len(thought)]
            return thought, True
        return said, True

    def _take_opened(self) -> str | None:
        opened, self._opened = self._opened, ""
        return opened or None


def _beginning_at_end(text: str, tag: str) -> int:
    """The number of characters at the end of a text that may be the beginning of a tag."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)
