"""A conversation between two stores: send and receive messages, with turns as bundles among them."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

from msgspec import Struct

from headish.bundles.live import BODIES, KINDS, LIVE, Hello, LiveKind, LiveRefusal, Nothing, Welcome
from headish.bundles.pages import TurnColumns
from headish.bundles.records import BundleHeader, BundleKind
from headish.bundles.streams import BundleReader, BundleWriter
from headish.content.frames import FrameWriter, read_frames
from headish.errors import HeadishError, InvalidBundle, RemoteRefused, RemoteUnavailable
from headish.remotes.commands import AT_WORK_SECONDS, Pipes, printable

S = TypeVar("S", bound=Struct)
_REASON_LENGTH = 1000
BEAT_SECONDS = 15.0
"""The interval at which a store that is at work says so: silence means that nobody is there."""
EXPLAIN_SECONDS = 10.0
"""The time to go on listening to a store that takes nothing any more: it may have said why."""
_IN_BUNDLE = frozenset((LiveKind.HEADER, LiveKind.RECEIPT, LiveKind.PAGE, LiveKind.SIGNATURES, LiveKind.END))
"""The frames of a bundle in a conversation. Names move by messages of their own, which the other side may forbid."""


class Talk(ABC):
    """One side of a conversation. ``name`` is the other store in errors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._frames: Iterator[tuple[IntEnum, Any]] = iter(())

    def greet(self, hello: Hello) -> Welcome:
        """Say who calls, once, before anything else. One round trip."""
        return self.ask(hello, Welcome)

    def send(self, message: Struct) -> None:
        """Send a message. Raises: RemoteUnavailable; RemoteRefused if the other store said why it left."""
        with self._saying() as writer:
            writer.write(KINDS[type(message)], message)

    @abstractmethod
    def bye(self) -> None:
        """Say goodbye: nothing else follows."""

    def next(self) -> tuple[LiveKind, Any]:
        """Read the next message. Raises: RemoteRefused, RemoteUnavailable, InvalidBundle."""
        # WAIT shows only that somebody is there: a store that hangs would send it without end.
        last = time.monotonic() + AT_WORK_SECONDS
        while (message := self._read())[0] is LiveKind.WAIT:
            if last <= time.monotonic():
                raise RemoteUnavailable(self.name, f"it has been at work for {AT_WORK_SECONDS:g} seconds")
        return message

    def receive(self, wanted: type[S]) -> S:
        """Read the next message, which must be of this type. Raises: as ``next``."""
        kind, value = self.next()
        if BODIES.get(kind) is not wanted:
            raise InvalidBundle(self.name, f"it says {kind.name} where something else is to be said")
        return value  # type: ignore[no-any-return]

    def ask(self, question: Struct, answer: type[S]) -> S:
        """Send a question and read its answer. One round trip."""
        self.send(question)
        return self.receive(answer)

    def send_bundle(self, receipts: Iterable[bytes], pages: Iterable[TurnColumns]) -> int:
        """Send receipts and turns as a bundle. Returns how many turns it has."""
        with self._saying() as frames:
            writer = BundleWriter(frames, BundleHeader())
            for receipt in receipts:
                writer.receipt(receipt)
            for page in pages:
                writer.page(page)
            writer.end()
        return writer.turns

    def bundle(self, first: tuple[LiveKind, Any] | None = None) -> BundleReader:
        """Read the next bundle; ``first`` is its first frame if that was read already. Raises: as ``next``."""
        return BundleReader(self._bundle_frames(first or self.next()), self.name)

    def _bundle_frames(self, first: tuple[LiveKind, Any]) -> Generator[tuple[IntEnum, Any]]:
        kind, value = first
        while kind in _IN_BUNDLE:
            yield BundleKind(kind), value
            if kind is LiveKind.END:
                return
            kind, value = self.next()
        raise InvalidBundle(self.name, f"it says {kind.name} where turns are to come")

    @abstractmethod
    def _saying(self) -> AbstractContextManager[FrameWriter]:
        """Give the writer to this thread alone, for one message."""

    @abstractmethod
    def _has_ended(self) -> bool:
        """Whether the other store has ended."""

    def _shown(self, text: str) -> str:
        """Text from the other store, made safe to show to people."""
        return printable(text)

    def _read(self) -> tuple[LiveKind, Any]:
        try:
            kind, value = next(self._frames)
        except InvalidBundle:
            # A frame that was cut off by the end is no damage: the other side went away.
            if self._has_ended():
                raise RemoteUnavailable(self.name, "it stopped in the middle of the conversation") from None
            raise
        except StopIteration:
            raise RemoteUnavailable(self.name, "it has said goodbye") from None
        if kind is LiveKind.REFUSED:
            raise RemoteRefused(self.name, self._shown(value.error), self._shown(value.reason))
        return LiveKind(kind), value


class Wire(Talk):
    """Both directions of a conversation over pipes. A context manager; its thread beats until it is left."""

    def __init__(self, pipes: Pipes, name: str) -> None:
        super().__init__(name)
        self._pipes = pipes
        self._frames = read_frames(pipes, name, LIVE)  # type: ignore[arg-type]
        try:
            self._writer = FrameWriter(pipes, LIVE)  # type: ignore[arg-type]
        except RemoteUnavailable as error:
            self._explain(error)
        self._writing, self._ended = threading.Lock(), threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        # Wait for a beat that is being written: the pipes are closed next, and their numbers may become other files'.
        with self._writing:
            pass

    def bye(self) -> None:
        """Say goodbye: nothing else follows."""
        with self._saying() as writer:
            writer.write(LiveKind.BYE, Nothing())

    def refuse(self, error: Exception) -> None:
        """Say why nothing else follows. The text of an error that is not headish's own stays here: it may reveal
        something about this machine."""
        reason = str(error) if isinstance(error, HeadishError) else "it failed; see its log"
        if not self._ended.is_set():
            self.send(LiveRefusal(type(error).__name__, reason[:_REASON_LENGTH]))

    @contextmanager
    def _saying(self) -> Iterator[FrameWriter]:
        """Give the writer to this thread alone. After a failed write nothing else is written: the frame may be cut
        off in the middle."""
        try:
            with self._writing:
                try:
                    yield self._writer
                except RemoteUnavailable:
                    self._ended.set()
                    raise
        except RemoteUnavailable as error:
            self._explain(error)

    def _has_ended(self) -> bool:
        return self._pipes.ended

    def _beat(self) -> None:
        """Say every ``BEAT_SECONDS`` that this store is there. It skips a beat instead of waiting for the other side:
        bytes that it has still to read show the same."""
        while not self._ended.wait(BEAT_SECONDS):
            with self._writing, suppress(RemoteUnavailable):  # the thread that talks meets the same error
                if not self._ended.is_set() and self._pipes.takes():
                    self._writer.write(LiveKind.WAIT, Nothing())

    def _explain(self, error: RemoteUnavailable) -> NoReturn:
        """Raise the reason why the other store takes nothing any more, if it sent one or is not a store; else
        ``error``."""
        until = time.monotonic() + EXPLAIN_SECONDS
        with suppress(RemoteUnavailable):
            while time.monotonic() < until:
                self._read()
        raise error from None
