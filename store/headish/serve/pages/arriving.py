"""Answers while they arrive, as a page shows them: parts that grow, with their unseen characters written out.

The recorder writes down those that pass the gateway while somebody watches, and the page reads them here. Both
processes may die and start again at any moment. The recorder writes only as long as it is told that somebody watches,
and begins its files anew after a restart.
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
"""The shortest time between two reports of what arrived of an answer."""
Told = dict[str, Any]
TITLE_CHARACTERS = 100
TAIL_CHARACTERS = 100
"""How many characters at the end of a part wait, because the next one may change how they are shown. They are told
again with each piece. Of a longer row of joiners or tags, which no script has, all is settled."""


class ShownPart:
    """Text, reasoning, or a call with its arguments. ``text`` is what a page shows of it so far."""

    def __init__(self, number: int, kind: str) -> None:
        self.number, self.kind = number, kind
        self.name = self.text = ""
        self._tail = self._half = ""  # whose unseen characters may depend on the next one
        self._settled = self._told = 0
        self._is_told = True

    @property
    def title(self) -> str:
        """What it is called, as in the stored turn."""
        if self.kind == "call":
            return plain(f"Call of {self.name}", TITLE_CHARACTERS)
        return "Reasoning" if self.kind == "thinking" else ""

    def add(self, piece: ArrivingPiece) -> None:
        """Take a further piece."""
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
        """What is new since it was last asked for; None if nothing is."""
        if self._is_told:
            return None
        told, self._told, self._is_told = self._from(self._told), self._settled, True
        return told

    def tell_all(self) -> Told:
        """All of it."""
        return self._from(0)

    def _from(self, position: int) -> Told:
        at = len(self.text[:position].encode("utf-16-le")) // 2  # as a browser counts
        return {"part": self.number, "kind": self.kind, "title": self.title, "at": at, "text": self.text[position:]}


class Arriving:
    """An answer: its ``parts`` as far as they came, and ``failure`` once it failed. ``passing`` is the call of one that
    passes the gateway: its client asked for it, so nobody here can stop it. ``asked`` is the turn that it continues,
    None for one that begins a conversation."""

    def __init__(self, space: str, asked: TurnId | None, passing: ArrivingCall | None = None) -> None:
        self.id = secrets.token_hex(8) if passing is None else passing.call
        self.space, self.asked, self.passing = space, asked, passing
        self.failure = ""
        self.ended: float | None = None
        self.asking: AsyncAnswer | None = None
        self._parts: dict[int, ShownPart] = {}

    @property
    def parts(self) -> list[ShownPart]:
        """The parts in their order."""
        return [self._parts[number] for number in sorted(self._parts)]

    @property
    def title(self) -> str:
        """What was asked, on one line."""
        return plain(self.passing.question if self.passing else "", TITLE_CHARACTERS) or "A conversation without words"

    @property
    def words(self) -> int:
        """How many words its text has."""
        return sum(len(part.text.split()) for part in self._parts.values() if part.kind == "text")

    def add(self, piece: ArrivingPiece) -> None:
        """Take a further piece; none of a part too many."""
        if piece.part not in self._parts and len(self._parts) < PARTS_LIMIT:
            self._parts[piece.part] = ShownPart(piece.part, piece.kind)
        if piece.part in self._parts:
            self._parts[piece.part].add(piece)

    def begin_anew(self) -> None:
        """Forget what came: all of it comes again."""
        self._parts = {}

    def tell(self) -> Iterator[Told]:
        """The events of what is new."""
        told = (part.tell() for part in self.parts)
        return ({"event": "delta", "answer": self.id, **each} for each in told if each is not None)

    def tell_all(self) -> Iterator[Told]:
        """The events of all of it, for a new listener."""
        return ({"event": "delta", "answer": self.id, **part.tell_all()} for part in self.parts)

    def stop(self) -> None:
        """End the provider's request; what arrived is stored."""
        if self.asking is not None:
            self.asking.cancel()


class Watching(Protocol):
    """Who watches answers."""

    @property
    def spaces(self) -> set[str]:
        """The spaces that somebody watches; empty once nobody does."""
        ...

    def show_passing(self, grown: GrownAnswer) -> None:
        """An answer has grown."""
        ...

    def end_passing(self, call: str) -> None:
        """An answer is stored, or is not shown any more."""
        ...


async def tail_answers(folder: Path, watching: Watching) -> None:
    """Show the answers of the server of a folder until nobody watches any more.

    Cost: twenty times a second a look at each file, in a thread.
    """
    reader, told, said = ArrivingReader(folder / ARRIVING_FOLDER), float("-inf"), set[str]()
    while spaces := watching.spaces:
        if spaces != said or time.monotonic() - told > WATCHED_SECONDS / 3:
            with suppress(OSError):  # on a full disk nothing is shown, and what comes is stored once there is room
                await asyncio.to_thread(write_watched, folder, spaces)
            told, said = time.monotonic(), spaces
        grown, gone = await asyncio.to_thread(reader.look)
        for each in grown:
            watching.show_passing(each)
        for ended in gone:
            watching.end_passing(ended)
        await asyncio.sleep(PAUSE_SECONDS)
