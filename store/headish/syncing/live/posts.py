"""A conversation over HTTP, from the side that asks: each question is a POST of its own (ADR 0101).

Between two questions the server may restart, or be another one. So it keeps nothing about its callers: every POST says
who calls and the cursor of the beginning, asks its question, and says goodbye. The response answers all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from headish.bundles.live import LIVE, Hello, LiveKind, Nothing, Welcome
from headish.calls.posting import PostedAnswer, SyncServer
from headish.content.frames import FrameWriter, read_frames
from headish.errors import RemoteUnavailable
from headish.syncing.live.wire import Talk

_IN_MEMORY_BYTES = 4 * 1024 * 1024
"""A longer question goes to a temporary file before it is sent."""


class PostTalk(Talk):
    """The conversation."""

    def __init__(self, server: SyncServer) -> None:
        super().__init__(server.url)
        self._server = server
        self._hello: Hello | None = None
        self._answer: PostedAnswer | None = None

    def greet(self, hello: Hello) -> Welcome:
        """Say who calls. From then on each question begins with a hello that names the other store's first cursor, so
        the answer tells whether its history still goes on from there."""
        welcome = super().greet(hello)
        self._hello = Hello(hello.space, hello.label, welcome.cursor)
        return welcome

    def bye(self) -> None:
        """Do nothing: each question has ended with a goodbye."""

    @contextmanager
    def _saying(self) -> Iterator[FrameWriter]:
        with SpooledTemporaryFile(_IN_MEMORY_BYTES) as spooled:
            question = cast(BinaryIO, spooled)
            writer = FrameWriter(question, LIVE)
            if self._hello is not None:
                writer.write(LiveKind.HELLO, self._hello)
            yield writer
            writer.write(LiveKind.BYE, Nothing())
            self._answer = self._server.post(question, writer.size_bytes)
        self._frames = read_frames(self._answer, self.name, LIVE)  # type: ignore[arg-type]
        if self._hello is not None and not self.receive(Welcome).holds:
            raise RemoteUnavailable(self.name, "its history was put back in the middle of the conversation")

    def _shown(self, text: str) -> str:
        return self._server.show(text)

    def _has_ended(self) -> bool:
        return self._answer is not None and self._answer.ended
