"""A body on its way to the spool: decompressed, without keys, and bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headish.content.secrecy.hiding import hide_secrets
from headish.gateway.recording.decoding import Decoder, Undecodable, find_decoder
from headish.gateway.recording.redacting import KeyFilter

BODY_LIMIT_BYTES = 64 * 1024 * 1024
"""The most bytes of a body that are written down, decompressed. A larger body still passes."""
REFUSAL_BYTES = 64 * 1024
"""How many bytes of a refusal are searched for keys as a whole."""
_UNREAD = ("multipart/", "image/", "audio/", "video/", "application/octet-stream", "application/zip", "application/pdf")
"""Types of bodies that hold no conversation, mostly files. Bodies of all other types are read: curl sends JSON as a
form by default."""


class RecordedBody:
    """One body of a call. ``left_out`` says why bytes that passed are not written down; None if all of them are.

    ``is_cut``: the body was longer than the limit, so the call is not recorded whole.

    ``is_refusal`` is for an answer with an error status: headish also removes what looks like a key from it.
    """

    def __init__(self, secrets: Iterable[str], content_type: str, encoding: str, *, is_refusal: bool = False) -> None:
        self._keys = KeyFilter(secrets)
        self._refusal = bytearray() if is_refusal else None
        self._size = 0
        self._decoder: Decoder | None = None
        self.left_out: str | None = None
        self.is_cut = False
        kind = content_type.partition(";")[0].strip().lower()
        if kind.startswith(_UNREAD):
            self.left_out = f"its type is {kind[:80]}"
            return
        try:
            self._decoder = find_decoder(encoding)
        except Undecodable as error:
            self.left_out = str(error)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the bytes to write down for the next chunk."""
        if self._decoder is None or self.left_out is not None:
            return
        try:
            for piece in self._decoder.decode(data):
                self._size += len(piece)
                if self._size > BODY_LIMIT_BYTES:
                    self.is_cut = True
                    self.left_out = f"it has more than {BODY_LIMIT_BYTES:,} bytes"
                    return
                yield from self._write(self._keys.feed(piece))
        except Undecodable as error:
            self.left_out = str(error)

    def finish(self) -> Iterator[bytes]:
        """Yield the rest of the body after it ended or broke off."""
        if self._decoder is not None and self.left_out is None and not self._decoder.is_whole:
            self.left_out = "its compressed data is cut off"
        yield from self._write(self._keys.finish())
        if self._refusal:
            yield _hide(bytes(self._refusal))
            self._refusal.clear()

    def _write(self, data: bytes) -> Iterator[bytes]:
        if self._refusal is None:
            if data:
                yield data
            return
        self._refusal += data  # gathered, since a chunk may end within what looks like a key
        while len(self._refusal) > REFUSAL_BYTES:
            yield _hide(bytes(self._refusal[:REFUSAL_BYTES]))
            del self._refusal[:REFUSAL_BYTES]


def _hide(data: bytes) -> bytes:
    # surrogateescape: bytes that are not UTF-8 come back unchanged.
    return str(hide_secrets(data.decode(errors="surrogateescape"))).encode(errors="surrogateescape")
