"""``POST /sync``: answer a question of another store. Question and answer are bodies of the live protocol.

A body is a whole conversation: hello, a question, goodbye. The endpoint reads it into a file before it looks at it, and
writes the answer to a file, so a slow client occupies a file, and no thread, transaction or memory. It keeps nothing
between two requests. A browser's session is not accepted here, because a page of another site could use it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from errno import ENOSPC
from tempfile import TemporaryFile
from typing import BinaryIO

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from headish.aio import AsyncStore
from headish.calls.posting import MEDIA_TYPE, PATH
from headish.errors import HeadishError
from headish.serve.access.callers import Caller
from headish.serve.access.problems import problem
from headish.serve.access.state import caller_of, enter, state_of
from headish.values.limits import SYNC_LIMIT_BYTES

LOG = logging.getLogger("headish.serve")
LIMITS = {PATH: SYNC_LIMIT_BYTES}
"""The largest body of a request, by its path."""
AT_ONCE, WAIT_SECONDS = 8, 30.0
"""How many questions are answered at once, and how long another one waits for its turn."""
PER_TOKEN = 4
"""How many requests of one token may be under way: each takes room on the disk, and no token may take all places."""
PORTION_BYTES, PORTION_SECONDS = 1024 * 1024, 60.0
"""A body is given up if its next portion takes longer than this."""
TOLD_SECONDS = 5.0
"""How often the finished part of an answer is sent, while the rest is made."""
_CHUNK_BYTES = 256 * 1024


class SyncEndpoint:
    """Answers requests, and counts those that are under way."""

    def __init__(self) -> None:
        self._working = asyncio.Semaphore(AT_ONCE)
        self._under_way: Counter[tuple[str | None, str]] = Counter()

    async def answer(self, request: Request) -> Response:
        """Answer a request. Raises: UnknownSpace, RightMissing, TooLarge, DatabaseError."""
        caller = caller_of(request)
        if caller.how != "token":
            reason = "a store syncs with a token that has the right sync: 'headish token add NAME --right sync'"
            return problem(request.scope, 403, "TokenNeeded", reason)
        store = await enter(request, "sync")
        if request.headers.get("content-type") != MEDIA_TYPE or "content-encoding" in request.headers:
            return problem(request.scope, 415, "UnknownMediaType", f"a question is {MEDIA_TYPE}, without an encoding")
        who = caller.space, caller.name
        if self._under_way[who] >= PER_TOKEN:
            reason = f"{PER_TOKEN} requests with this token are under way"
            return problem(request.scope, 429, "TooManyAtOnce", reason, headers={"Retry-After": "5"})
        with ExitStack() as opened:
            self._under_way[who] += 1
            opened.callback(self._forget, who)
            return await self._answer(request, store, caller, opened)

    def _forget(self, who: tuple[str | None, str]) -> None:
        self._under_way[who] -= 1
        if not self._under_way[who]:
            del self._under_way[who]

    async def _answer(self, request: Request, store: AsyncStore, caller: Caller, opened: ExitStack) -> Response:
        question, answer = (opened.enter_context(_unnamed(state_of(request).settings.folder)) for _ in range(2))
        try:
            await _take(request, question)
        except TimeoutError:
            reason = f"no further portion of the body came for {PORTION_SECONDS:g} seconds"
            return problem(request.scope, 408, "TooSlow", reason)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has gone and does not read it
        if not await request.state.is_admitted(request.scope):  # a body may take hours, and its token may be removed
            return problem(request.scope, 401, "WrongToken", "the token was removed while this was asked")
        try:
            await asyncio.wait_for(self._working.acquire(), WAIT_SECONDS)
        except TimeoutError:
            reason = "other stores are being answered: try again later"
            return problem(request.scope, 503, "Busy", reason, headers={"Retry-After": "30"})
        work = asyncio.ensure_future(self._work(store, caller, question.fileno(), answer.fileno()))
        return GrowingAnswer(work, answer.fileno(), opened.pop_all())

    async def _work(self, store: AsyncStore, caller: Caller, question: int, answer: int) -> None:
        """Read a question from a file, and write its answer to another file."""
        try:
            os.lseek(question, 0, os.SEEK_SET)
            # One question: a body with many could ask for the same again and again, and fill the disk with answers.
            await store.remotes.answer(
                question, answer, trust=caller.may("trust"), erases=caller.may("erase"), caller=caller.name, questions=1
            )
        except HeadishError as error:  # the answer reports it to the caller
            LOG.info("sync of %s: %s", caller.name, error)
        except Exception:
            LOG.exception("sync of %s", caller.name)
        finally:
            self._working.release()


class GrowingAnswer(Response):
    """A response with the contents of a file, sent while ``work`` still writes it. ``opened`` is closed at the end."""

    media_type = MEDIA_TYPE

    def __init__(self, work: asyncio.Future[None], file: int, opened: ExitStack) -> None:
        # Without Response's own: that would announce the length of an empty body.
        self.status_code = 200
        self.background = None
        self.init_headers({"cache-control": "no-store", "x-accel-buffering": "no"})
        self._work, self._file, self._opened = work, file, opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file. Gives up a client that takes nothing for a minute."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in self._pieces():
                async with asyncio.timeout(PORTION_SECONDS):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            LOG.info("a store that syncs took nothing for %g seconds", PORTION_SECONDS)
        finally:
            # Not before the work ends: its thread still uses the files, and a closed number may be another file's.
            await asyncio.wait([self._work])
            self._opened.close()

    async def _pieces(self) -> AsyncIterator[bytes]:
        sent, is_done = 0, False
        while not is_done:
            done, _ = await asyncio.wait([self._work], timeout=TOLD_SECONDS)
            is_done = bool(done)
            while piece := os.pread(self._file, _CHUNK_BYTES, sent):
                sent += len(piece)
                yield piece


def _unnamed(folder: str) -> BinaryIO:
    """Open a file without a name beside the database, so that the contents of a store reach no other disk."""
    return TemporaryFile(dir=folder, buffering=0)


async def _take(request: Request, file: BinaryIO) -> None:
    """Read a body into a file. Raises: TimeoutError, TooLarge, ClientDisconnect."""
    stream = request.stream()
    while True:
        async with asyncio.timeout(PORTION_SECONDS):
            remaining = PORTION_BYTES
            while remaining > 0:
                piece = await anext(stream, None)
                if piece is None:
                    return
                # Unbuffered, so a full disk may take a part. The caller must not be told that its message is broken.
                if file.write(piece) < len(piece):
                    raise OSError(ENOSPC, os.strerror(ENOSPC))
                remaining -= len(piece)


def sync_routes() -> list[BaseRoute]:
    """``POST /sync``."""
    return [Route(PATH, SyncEndpoint().answer, methods=["POST"])]
