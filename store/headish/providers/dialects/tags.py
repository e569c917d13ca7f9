"""Reasoning between tags at the beginning of a content: ``<think>…</think>``, in whatever pieces it comes.

Only a tag that the content begins with counts, white space before it apart: what a model says *of* such tags stays
text. The tags go with the white space around them, so that what is thought and said has none, and all of it can be
written again to the letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SPACE_LIMIT = 256
"""So much white space may stand before or behind a tag. Behind that it belongs to what is said or thought."""


class TaggedPiece(NamedTuple):
    """A piece of content: text, or reasoning. ``opened`` is the tag that the reasoning began with, ``closed`` the one
    that ended it; both have the white space around them, and come once."""

    text: str
    is_thought: bool = False
    opened: str | None = None
    closed: str | None = None


class TagSplitter:
    """Splits a content. ``feed`` gives what is certain; ``flush`` gives the rest, where something else begins."""

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
        """What was held back. A tag that is open stays open."""
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

    # What is being read; each takes what is held as far as it is certain.

    def _begin(self) -> Iterator[TaggedPiece]:
        said = self._held.lstrip()
        tag = next((tag for tag in self._tags if said.startswith(tag)), None)
        if tag is not None:
            cut = len(self._held) - len(said) + len(tag)
            self._opened, self._held = self._held[:cut], self._held[cut:]
            self._ending, self._read = f"</{tag[1:]}", self._think
            yield from self._think()
        elif len(self._held) > SPACE_LIMIT or not any(tag.startswith(said) for tag in self._tags):
            self._read = self._say
            yield from self._say()

    def _think(self) -> Iterator[TaggedPiece]:
        thought, ending, behind = self._held.partition(self._ending)
        if ending:
            said = thought.rstrip()
            yield TaggedPiece(*self._thought(said), opened=self._take_opened())
            self._closed, self._held, self._read = thought[len(said) :] + ending, behind, self._end
            yield from self._end()
            return
        # What may belong to the tag that ends it is held back.
        whole = self._held[: len(self._held) - _beginning_at_end(self._held, self._ending)]
        said = whole.rstrip() if len(whole) - len(whole.rstrip()) <= SPACE_LIMIT else whole
        self._held = self._held[len(said) :]
        if said:
            yield TaggedPiece(*self._thought(said), opened=self._take_opened())

    def _end(self) -> Iterator[TaggedPiece]:
        said = self._held.lstrip()
        space = len(self._held) - len(said)
        if not said and space <= SPACE_LIMIT:
            return
        closed, self._held, self._read = self._closed + self._held[:space], said, self._say
        yield TaggedPiece("", is_thought=True, closed=closed)
        yield from self._say()

    def _say(self) -> Iterator[TaggedPiece]:
        held, self._held = self._held, ""
        if held:
            yield TaggedPiece(held)

    def _thought(self, said: str) -> tuple[str, bool]:
        """A piece of reasoning. The white space that it begins with goes to the tag before it."""
        if self._opened:
            thought = said.lstrip()
            self._opened += said[: len(said) - len(thought)]
            return thought, True
        return said, True

    def _take_opened(self) -> str | None:
        opened, self._opened = self._opened, ""
        return opened or None


def _beginning_at_end(text: str, tag: str) -> int:
    """How many characters at the end of a text may be the beginning of a tag."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)
