"""The server's copy of the tokens, which it reads from the database again once it is a second old."""

from __future__ import annotations

import asyncio
import time

from headish.aio import AsyncDatabase
from headish.values.access.tokens import Token, find_token, is_token

FRESH_SECONDS = 1.0
"""How old the copy may be: a removed token works at most this long."""


class TokenBook:
    """Looks tokens up. For one event loop."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._known: tuple[Token, ...] = ()
        self._read_at = -FRESH_SECONDS
        # One look at a time, or many requests with unknown tokens would each read the table.
        self._reading = asyncio.Lock()

    async def find(self, text: str) -> Token | None:
        """Find a token; None if it is unknown. Reads again for a token that was made just now. Text that does not have
        the form of a token causes no read. Raises: DatabaseError."""
        if not is_token(text):
            return None
        now = time.time_ns() // 1_000_000
        return find_token(await self.list(), text, now) or find_token(await self.list(fresh=True), text, now)

    async def list(self, *, fresh: bool = False) -> tuple[Token, ...]:
        """All tokens, as they are now or were at most a second ago. Raises: DatabaseError."""
        asked_at = time.monotonic()
        async with self._reading:  # many who ask at once read once
            if self._read_at < (asked_at if fresh else asked_at - FRESH_SECONDS):
                read_at = time.monotonic()  # before the read, which may miss what is written while it runs
                self._known = tuple(await self._database.access_tokens.list())
                self._read_at = read_at
        return self._known
