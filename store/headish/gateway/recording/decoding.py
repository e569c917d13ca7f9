"""Decompress bodies for the record, because a key cannot be found in gzip. The bodies themselves pass compressed.

A decoder takes chunks however they were cut. A broken or unknown encoding ends the record of that body with a reason;
the bytes recorded before it stay.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

PIECE_BYTES = 256
"""How many bytes zstd gets in one step. Its decoder takes no limit for its output; this many become 8 MB at most."""
OUTPUT_BYTES = 1024 * 1024
"""The most bytes that one step of the other decoders gives."""

FRAME_HEAD_BYTES = 2
"""The bytes that tell zlib's frame from deflate without one."""


class Undecodable(Exception):
    """A body that cannot be decompressed; the message says why, in words for people."""


class Decoder(Protocol):
    """Decompresses a body chunk by chunk."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Decompress the next chunk, in pieces of bounded size. Raises: Undecodable."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether what was decompressed has its end. True if nothing came."""
        ...


def find_decoder(encoding: str) -> Decoder:
    """The decoder of a ``Content-Encoding``. Raises: Undecodable."""
    factory = _DECODERS.get(encoding.strip().lower())
    if factory is None:
        raise Undecodable(f"its encoding is {encoding[:40]!r}, which headish does not read")
    return factory()


class _Plain:
    is_whole = True

    def decode(self, data: bytes) -> Iterator[bytes]:
        yield data


class _Zlib:
    """gzip, of one member or several, and deflate, with and without zlib's frame."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._stream = zlib.decompressobj(bits)
        self._begun, self._head = False, b""

    @property
    def is_whole(self) -> bool:
        return self._stream.eof if self._begun else not self._head

    def decode(self, data: bytes) -> Iterator[bytes]:
        if self._bits == zlib.MAX_WBITS and not self._begun:
            data = self._head + data
            if len(data) < FRAME_HEAD_BYTES:
                self._head = data
                return
        while data:
            if self._stream.eof:
                self._stream = zlib.decompressobj(self._bits)
            try:
                yield self._stream.decompress(data, OUTPUT_BYTES)
            except zlib.error as error:
                if self._begun or self._bits != zlib.MAX_WBITS:
                    raise Undecodable(f"it cannot be decompressed ({error})") from None
                self._bits = -zlib.MAX_WBITS  # some servers send deflate without zlib's frame (RFC 9110 §8.4.1.2)
                self._stream = zlib.decompressobj(self._bits)
                continue
            finally:
                self._begun = True
            data = self._stream.unused_data or self._stream.unconsumed_tail


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._stream, self._error = brotli.Decompressor(), brotli.error
        self._begun = False

    @property
    def is_whole(self) -> bool:
        return self._stream.is_finished() if self._begun else True

    def decode(self, data: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(data)
        try:
            yield self._stream.process(data, output_buffer_limit=OUTPUT_BYTES)
            while not self._stream.can_accept_more_data():
                yield self._stream.process(b"", output_buffer_limit=OUTPUT_BYTES)
        except self._error:
            raise Undecodable("it cannot be decompressed (brotli)") from None


class _Zstandard:
    def __init__(self) -> None:
        import zstandard

        self._make: Callable[[], Any] = lambda: zstandard.ZstdDecompressor().decompressobj()
        self._error: type[Exception] = zstandard.ZstdError
        self._stream = self._make()
        self._begun = False

    @property
    def is_whole(self) -> bool:
        return bool(self._stream.eof) if self._begun else True

    def decode(self, data: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(data)
        try:
            for at in range(0, len(data), PIECE_BYTES):
                piece = data[at : at + PIECE_BYTES]
                while piece:
                    if self._stream.eof:  # a body may be several frames
                        self._stream = self._make()
                    yield self._stream.decompress(piece)
                    piece = self._stream.unused_data
        except self._error as error:
            raise Undecodable(f"it cannot be decompressed ({error})") from None


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "": _Plain,
    "identity": _Plain,
    "gzip": lambda: _Zlib(zlib.MAX_WBITS + 16),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS + 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstandard,
}
