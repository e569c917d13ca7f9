"""Read ZIP archives in place: no member is ever written to a path, and none may expand without end.

A member whose name leads out of the archive is left out. An archive inside an archive, as some exports are, is opened
too; one inside that is not.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Generator, Iterator
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast

from headish.errors import InvalidImport
from headish.imports.unpacking import HARMLESS_BYTES, RATIO_LIMIT, Allowance, peek, unpacked
from headish.values.limits import IMPORT_LINE_BYTES, STREAM_LIMIT_BYTES

CHUNK_BYTES = 1024 * 1024
SPOOLED_BYTES = 16 * 1024 * 1024
"""Data that must be read twice stays in memory up to this size, then in an unnamed temporary file."""
MEMBERS_LIMIT = 500_000
ZIP = b"PK\x03\x04"
WHOLE_BYTES = 1024 * 1024 * 1024
"""An archive may unpack to this size in total, or to ``RATIO_LIMIT`` times its own size if that is more, nested
archives included."""
_ZSTD = 93
_HEAD = struct.Struct("<4s5H3I2H")
"""The local header of a member, up to the lengths of its name and its extra field, which follow it. Source: PKWARE's
APPNOTE.TXT, section 4.3.7."""
_FAILURES = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
"""What zipfile raises for a bad archive; ValueError among others for a name that is not UTF-8."""


class Archive:
    """An open archive; ``name`` is what errors call the file. A nested archive draws on the ``allowance`` of the outer
    one."""

    def __init__(self, file: BinaryIO, name: str, allowance: Allowance | None = None) -> None:
        """Raises: InvalidImport for a file that is not an archive, has too many members, or has two different ones of
        one name."""
        self._name = name
        size_bytes = file.seek(0, io.SEEK_END)
        self.allowance = allowance or Allowance(max(WHOLE_BYTES, size_bytes * RATIO_LIMIT))
        try:
            self._zip = zipfile.ZipFile(file)
        except _FAILURES as error:
            raise InvalidImport(name, None, f"it is not a ZIP archive that can be read ({error})") from None
        if len(self._zip.infolist()) > MEMBERS_LIMIT:
            raise InvalidImport(name, None, f"it has more than {MEMBERS_LIMIT:,} members")
        self._safe: dict[str, zipfile.ZipInfo] = {}
        for each in self._zip.infolist():
            if each.header_offset < 0:  # the list of a file that was cut says so
                reason = f"it is damaged: {each.filename[:200]!r} begins before the archive does"
                raise InvalidImport(name, None, reason)
            first = self._safe.setdefault(each.filename, each) if _is_safe(each.filename) else each
            # Programs disagree which of two members of one name they read, so headish does not choose.
            if (first.CRC, first.file_size) != (each.CRC, each.file_size):
                reason = f"it holds {each.filename[:200]!r} twice, and they differ: unpack it, and import the right one"
                raise InvalidImport(name, None, reason)

    @property
    def members(self) -> list[str]:
        """The names of the members, sorted, without folders and names that lead out of the archive."""
        return sorted(name for name in self._safe if not name.endswith("/"))

    @property
    def listing(self) -> bytes:
        """The names, sizes and checksums of the members, as the archive lists them."""
        return repr([(name, info.file_size, info.CRC) for name, info in sorted(self._safe.items())]).encode()

    def open(self, member: str) -> BinaryIO:
        """Open a member, to be read to its end. Raises: InvalidImport for one that is encrypted, damaged, or a bomb."""
        info = self._safe[member]
        name = f"{self._name}:{member}"
        if info.flag_bits & 1:
            raise InvalidImport(name, None, "it is encrypted; unpack it and import what is in it")
        try:
            packed = self._zip.open(info)
        except _FAILURES as error:
            raise InvalidImport(name, None, f"it cannot be unpacked ({error})") from None
        member_file = _UnpackedMember(cast(BinaryIO, packed), info.compress_size, name, self.allowance)
        return cast(BinaryIO, io.BufferedReader(member_file, CHUNK_BYTES))

    def open_zstd(self, member: str) -> BinaryIO:
        """Open a member that may be packed with zstd, which zipfile reads only since Python 3.14; any other as ``open``
        does.

        Raises: as ``open``; InvalidImport if nothing installed can unpack zstd.
        """
        info = self._safe[member]
        if info.compress_type != _ZSTD or info.flag_bits & 1:
            return self.open(member)
        name = f"{self._name}:{member}"
        if info.compress_size > IMPORT_LINE_BYTES:
            raise InvalidImport(name, None, f"it is longer than {IMPORT_LINE_BYTES:,} bytes, packed")
        return unpacked(io.BytesIO(self._packed(info, name)), name, self.allowance.take)

    def _packed(self, info: zipfile.ZipInfo, name: str) -> bytes:
        """The packed bytes of a member, which follow its header, its name and its extra field."""
        file = self._zip.fp
        assert file is not None
        file.seek(info.header_offset)
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(ZIP):
            raise InvalidImport(name, None, "it cannot be unpacked (its head is damaged)")
        # Their lengths in the central directory may differ, so the local header decides.
        name_bytes, further_bytes = _HEAD.unpack(head)[-2:]
        file.seek(name_bytes + further_bytes, io.SEEK_CUR)
        return file.read(info.compress_size)

    def read(self, member: str, limit_bytes: int) -> bytes | None:
        """Return the bytes of a member, None if it has more than ``limit_bytes``. Raises: as ``open``."""
        with self.open(member) as file:
            data = file.read(limit_bytes + 1)
        return data if len(data) <= limit_bytes else None


def spooled(file: BinaryIO, name: str, way_out: str) -> BinaryIO:
    """Copy a file to memory or an unnamed temporary file. Raises: InvalidImport with a way out if it is too large."""
    spool = cast(BinaryIO, SpooledTemporaryFile(max_size=SPOOLED_BYTES))  # noqa: SIM115, the caller closes it
    size_bytes = 0
    while chunk := file.read(CHUNK_BYTES):
        size_bytes += len(chunk)
        if size_bytes > STREAM_LIMIT_BYTES:
            spool.close()
            raise InvalidImport(name, None, f"it has more than {STREAM_LIMIT_BYTES:,} bytes; {way_out}")
        spool.write(chunk)
    spool.seek(0)
    return spool


class ExportFile(NamedTuple):
    """A file of conversations, its name, and the archive that holds it."""

    file: BinaryIO
    name: str
    archive: Archive | None


def open_matching(file: BinaryIO, name: str, pattern: re.Pattern[str]) -> Generator[ExportFile, None, None]:
    """Yield the file itself; for an archive, its members whose file name matches, in order, then those of archives
    inside it.

    Raises: InvalidImport.
    """
    if peek(file, len(ZIP)) != ZIP:
        yield ExportFile(file, name, None)
        return
    yield from _matching(Archive(file, name), name, pattern, inner=True)


def _matching(archive: Archive, name: str, pattern: re.Pattern[str], *, inner: bool) -> Iterator[ExportFile]:
    matching = [member for member in archive.members if pattern.fullmatch(PurePosixPath(member).name)]
    for member in matching:
        with archive.open(member) as file:
            yield ExportFile(file, f"{name}:{member}", archive)
    for member in archive.members if inner and not matching else ():
        if member.lower().endswith(".zip"):
            place = f"{name}:{member}"
            with archive.open(member) as packed:
                # Its list of members is at its end, so reading it takes a seek.
                copy = spooled(packed, place, "unpack the outer archive")
            with copy as file:
                # The outer allowance: a thousand small archives inside one would each have its own otherwise.
                yield from _matching(Archive(file, place, archive.allowance), place, pattern, inner=False)


class _UnpackedMember(io.RawIOBase):
    """A member while it is unpacked. The size that the archive gives for it is not trusted."""

    def __init__(self, packed: BinaryIO, packed_bytes: int, name: str, allowance: Allowance) -> None:
        self._packed, self._name, self._allowance = packed, name, allowance
        self._left = max(HARMLESS_BYTES, packed_bytes * RATIO_LIMIT)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = cast(memoryview, buffer)
        try:
            data = self._packed.read(len(view))
        except _FAILURES as error:
            raise InvalidImport(self._name, None, f"it cannot be unpacked ({error})") from None
        except Exception as error:  # zlib.error and what other ways of packing raise
            raise InvalidImport(self._name, None, f"it is damaged ({error})") from None
        # Counted as it comes out: the size in the archive's list is whatever its maker wrote there.
        self._left -= len(data)
        if self._left < 0:
            raise InvalidImport(self._name, None, f"it swells to more than {RATIO_LIMIT} times its size")
        self._allowance.take(len(data), self._name)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._packed.close()
        super().close()


def _is_safe(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return not name.startswith(("/", "\\")) and ".." not in parts and ":" not in parts[0] and "\0" not in name
