"""Answers while they arrive, as a page shows them: parts that grow, with their unseen characters written out.

While somebody watches, the recorder writes the answers that pass the gateway to files, which this module reads. Both
processes may die and start again at any moment: the recorder stops writing when nobody renews the list of watched
spaces, and begins its files anew after a restart.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from headish.aio.answers import AsyncAnswer
from headish.gateway.spool.arriving import (
    ARRIVING_FOLDER,
    PARTS_LIMIT,
    WATCHED_SECONDS,
    ArrivingCall,
    ArrivingPiece,
    ArrivingReader,
    GrownAnswer,
    write_watched,
)
from headish.providers.shared.shapes import whole_characters
from headish.renderings.marking import count_settled, show_unseen
from headish.serve.pages.drawing import plain
from headish.values.ids import TurnId

PAUSE_SECONDS = 0.05
"""The shortest time between two reports about an answer that arrives."""
Told = dict[str, Any]
TITLE_CHARACTERS = 100
TAIL_CHARACTERS = 100
"""The most characters at the end of a part that stay unsettled, because the next one may change how they are shown.
Each piece sends them again. A longer row of joiners or tags, which no script has, counts as settled."""


class ShownPart:
    """A part of an answer: text, reasoning, or a call with its arguments. ``text`` is what a page shows of it so
    far."""

    def __init__(self, number: int, kind: str) -> None:
        self.number, self.kind = number, kind
        self.name = self.text = ""
        self._tail = self._half = ""  # what the next piece may change: unsettled characters, half a surrogate pair
        self._settled = self._told = 0
        self._is_told = True

    @property
    def title(self) -> str:
        """The heading of the part, as in the stored turn."""
        if self.kind == "call":
            return plain(f"Call of {self.name}", TITLE_CHARACTERS)
        return "Reasoning" if self.kind == "thinking" else ""

    def add(self, piece: ArrivingPiece) -> None:
        """Add a piece."""
        text, self._half = whole_characters(self._half + piece.text)
        tail = self._tail + text
        at = count_settled(tail)
        if len(tail) - at > TAIL_CHARACTERS:
            at = len(tail)
        settled = self.text[: self._settled] + show_unseen(tail[:at])
        self._settled, self._tail = len(settled), tail[at:]
        self.text = settled + show_unseen(self._tail)
        self.name = self.name or piece.name
        self._is_told = False

    def tell(self) -> Told | None:
        """The text that is new since the last call; None if there is none."""
        if self._is_told:
            return None
        told, self._told, self._is_told = self._from(self._told), self._settled, True
        return told

    def tell_all(self) -> Told:
        """The whole text so far."""
        return self._from(0)

    def _from(self, position: int) -> Told:
        at = len(self.text[:position].encode("utf-16-le")) // 2  # the script counts UTF-16 units
        return {"part": self.number, "kind": self.kind, "title": self.title, "at": at, "text": self.text[position:]}


class Arriving:
    """An answer that arrives: its ``parts`` so far, and ``failure`` once it failed. ``passing`` is its call if it
    passes the gateway: a client there asked for it, so nobody here can stop it. ``asked`` is the turn that it
    continues, None if it begins a conversation."""

    def __init__(self, space: str, asked: TurnId | None, passing: ArrivingCall | None = None) -> None:
        self.id = secrets.token_hex(8) if passing is None else passing.call
        self.space, self.asked, self.passing = space, asked, passing
        self.failure = ""
        self.ended: float | None = None
        self.opening: asyncio.Future[AsyncAnswer] | None = None
        self.asking: AsyncAnswer | None = None
        self._parts: dict[int, ShownPart] = {}

    @property
    def parts(self) -> list[ShownPart]:
        """The parts in their order."""
        return [self._parts[number] for number in sorted(self._parts)]

    @property
    def title(self) -> str:
        """The question, on one line."""
        return plain(self.passing.question if self.passing else "", TITLE_CHARACTERS) or "A conversation without words"

    @property
    def words(self) -> int:
        """The number of words of its text."""
        return sum(len(part.text.split()) for part in self._parts.values() if part.kind == "text")

    def add(self, piece: ArrivingPiece) -> None:
        """Add a piece. Pieces of parts beyond ``PARTS_LIMIT`` are dropped."""
        if piece.part not in self._parts and len(self._parts) < PARTS_LIMIT:
            self._parts[piece.part] = ShownPart(piece.part, piece.kind)
        if piece.part in self._parts:
            self._parts[piece.part].add(piece)

    def begin_anew(self) -> None:
        """Drop the parts so far: all of them come again."""
        self._parts = {}

    def tell(self) -> Iterator[Told]:
        """The events for the text that is new."""
        events = (part.tell() for part in self.parts)
        return ({"event": "delta", "answer": self.id, **each} for each in events if each is not None)

    def tell_all(self) -> Iterator[Told]:
        """The events for the whole answer so far, for a new listener."""
        return ({"event": "delta", "answer": self.id, **part.tell_all()} for part in self.parts)

    def stop(self) -> None:
        """End the provider's request; the text that arrived is stored."""
        if self.asking is not None:
            self.asking.cancel()
        elif self.opening is not None:
            self.opening.cancel()


class Watching(Protocol):
    """A watcher of answers."""

    @property
    def spaces(self) -> set[str]:
        """The spaces that somebody watches; empty once nobody does."""
        ...

    def show_passing(self, grown: GrownAnswer) -> None:
        """Show an answer that has grown."""
        ...

    def end_passing(self, call: str) -> None:
        """End an answer that is stored, or is no longer shown."""
        ...


async def tail_answers(folder: Path, watching: Watching) -> None:
    """Show the answers that pass the gateway of a server's folder, until nobody watches any more.

    Cost: twenty times a second a ``stat`` of each file, in a thread.
    """
    reader, written_at, written_spaces = ArrivingReader(folder / ARRIVING_FOLDER), float("-inf"), set[str]()
    while spaces := watching.spaces:
        # A third: the list stays valid even if one or two writes are late or fail.
        if spaces != written_spaces or time.monotonic() - written_at > WATCHED_SECONDS / 3:
            with suppress(OSError):  # on a full disk nothing is shown; the calls are stored once there is room
                await asyncio.to_thread(write_watched, folder, spaces)
            written_at, written_spaces = time.monotonic(), spaces
        grown, gone = await asyncio.to_thread(reader.look)
        for each in grown:
            watching.show_passing(each)
        for ended in gone:
            watching.end_passing(ended)
        await asyncio.sleep(PAUSE_SECONDS)
