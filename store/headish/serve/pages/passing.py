"""Answers that pass the gateway while somebody watches: the recorder writes them down, and the page reads them here.

Both processes may die and start again at any moment. The recorder writes only as long as it is told that somebody
watches, and begins its files anew after a restart.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from headish.gateway.spool.arriving import (
    ARRIVING_FOLDER,
    WATCHED_SECONDS,
    ArrivingCall,
    ArrivingReader,
    write_watched,
)

PAUSE_SECONDS = 0.05
"""The shortest time between two reports of what arrived of an answer."""


class Watching(Protocol):
    """Who watches answers."""

    @property
    def spaces(self) -> set[str]:
        """The spaces that somebody watches; empty once nobody does."""
        ...

    def show_passing(self, call: ArrivingCall, text: str) -> None:
        """An answer has come as far as this."""
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
        for call, text in grown:
            watching.show_passing(call, text)
        for ended in gone:
            watching.end_passing(ended)
        await asyncio.sleep(PAUSE_SECONDS)
