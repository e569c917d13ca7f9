"""A conversation between two stores: messages go out and come in, turns as bundles among them."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

from msgspec import Struct

from headish.bundles.live import BODIES, KINDS, LIVE, Hello, LiveKind, LiveRefusal, Nothing, Welcome
from headish.bundles.records import BundleHeader, BundleKind, TurnRecord
from headish.bundles.streams import BundleReader, BundleWriter
from headish.content.frames import FrameWriter, read_frames
from headish.errors import HeadishError, InvalidBundle, RemoteRefused, RemoteUnavailable
from headish.remotes.commands import AT_WORK_SECONDS, Pipes, printable

S = TypeVar("S", bound=Struct)
_REASON_LENGTH = 1000
BEAT_SECONDS = 15.0
"""A store that is at work for longer says so: silence means that nobody is there."""
EXPLAIN_SECONDS = 10.0
"""A store that takes nothing any more is listened to for so long: it may have said why."""
_IN_BUNDLE = frozenset((LiveKind.HEADER, LiveKind.RECEIPT, LiveKind.PAGE, LiveKind.SIGNATURES, LiveKind.END))
"""What a bundle on its way holds. Names are moved by messages of their own, which somebody may forbid."""


class Talk(ABC):
    """What one side of a conversation says and hears. ``name`` is the other store in errors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._frames: Iterator[tuple[IntEnum, Any]] = iter(())

    def greet(self, hello: Hello) -> Welcome:
        """Say who calls, once, before all else. One round trip."""
        return self.ask(hello, Welcome)

    def send(self, message: Struct) -> None:
        """Say something. Raises: RemoteUnavailable; RemoteRefused where the other store has said why it went."""
        with self._saying() as writer:
            writer.write(KINDS[type(message)], message)

    @abstractmethod
    def bye(self) -> None:
        """Say that nothing else comes."""

    def next(self) -> tuple[LiveKind, Any]:
        """The next message. Raises: RemoteRefused, RemoteUnavailable, InvalidBundle."""
        last = time.monotonic() + AT_WORK_SECONDS
        while (message := self._read())[0] is LiveKind.WAIT:
            if last <= time.monotonic():
                raise RemoteUnavailable(self.name, f"it has been at work for {AT_WORK_SECONDS:g} seconds")
        return message

    def receive(self, wanted: type[S]) -> S:
        """The next message, which is of one kind. Raises: as ``next``."""
        kind, value = self.next()
        if BODIES.get(kind) is not wanted:
            raise InvalidBundle(self.name, f"it says {kind.name} where something else is to be said")
        return value  # type: ignore[no-any-return]

    def ask(self, question: Struct, answer: type[S]) -> S:
        """What the other store answers. One round trip."""
        self.send(question)
        return self.receive(answer)

    def send_bundle(self, receipts: Iterable[bytes], pages: Iterable[Sequence[TurnRecord]]) -> int:
        """Send turns, with receipts; how many turns that were."""
        with self._saying() as frames:
            writer = BundleWriter(frames, BundleHeader())
            for receipt in receipts:
                writer.receipt(receipt)
            for page in pages:
                writer.page(page)
            writer.end()
        return writer.turns

    def bundle(self, first: tuple[LiveKind, Any] | None = None) -> BundleReader:
        """The bundle that comes next, or whose first frame was read. Raises: as ``next``."""
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
        """While this thread alone says something."""

    @abstractmethod
    def _has_ended(self) -> bool:
        """Whether nothing else comes from the other store."""

    def _shown(self, text: str) -> str:
        """What the other store says, as people may see it."""
        return printable(text)

    def _read(self) -> tuple[LiveKind, Any]:
        try:
            kind, value = next(self._frames)
        except InvalidBundle:
            if self._has_ended():
                raise RemoteUnavailable(self.name, "it stopped in the middle of the conversation") from None
            raise
        except StopIteration:
            raise RemoteUnavailable(self.name, "it has said goodbye") from None
        if kind is LiveKind.REFUSED:
            raise RemoteRefused(self.name, self._shown(value.error), self._shown(value.reason))
        return LiveKind(kind), value


class Wire(Talk):
    """Both directions of a conversation over pipes, while it is entered."""

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
        with self._writing:  # whoever closes the pipes now writes to nothing else
            pass

    def bye(self) -> None:
        """Say that nothing else comes."""
        with self._saying() as writer:
            writer.write(LiveKind.BYE, Nothing())

    def refuse(self, error: Exception) -> None:
        """Say why nothing else comes. What an error says that is not headish's own may be of this machine alone."""
        reason = str(error) if isinstance(error, HeadishError) else "it failed; see its log"
        if not self._ended.is_set():
            self.send(LiveRefusal(type(error).__name__, reason[:_REASON_LENGTH]))

    @contextmanager
    def _saying(self) -> Iterator[FrameWriter]:
        """What could not be written may end within a frame: nothing follows it."""
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
        """Say from time to time that somebody is there. It never waits: where bytes of ours are still to be taken, they
        say so."""
        while not self._ended.wait(BEAT_SECONDS):
            with self._writing, suppress(RemoteUnavailable):  # whoever asks or answers meets that, too
                if not self._ended.is_set() and self._pipes.takes():
                    self._writer.write(LiveKind.WAIT, Nothing())

    def _explain(self, error: RemoteUnavailable) -> NoReturn:
        """Raise why the other store takes nothing any more, if it has said so, or is no store; else the error."""
        until = time.monotonic() + EXPLAIN_SECONDS
        with suppress(RemoteUnavailable):
            while time.monotonic() < until:
                self._read()
        raise error from None
