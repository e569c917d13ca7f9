"""The key of a place that this machine is making: a file beside the keys, so that the next process can go on if this
one is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import ENOSPC
from io import FileIO

from headish.errors import InvalidArgument, NotADevice
from headish.remotes.keys import RemoteKey, file_of, flush_folder, read_key, writing_keys
from headish.values.forking import fcntl

_SECRET_LIMIT_BYTES = 4096


class BegunKey:
    """The file while this process holds it. Empty, it says that nothing was begun."""

    def __init__(self, path: str, file: FileIO) -> None:
        self._path, self._file = path, file

    def load(self) -> RemoteKey | None:
        """The key that a process of this machine began with before it was killed; None if there is none. Raises:
        InvalidArgument."""
        self._file.seek(0)
        data = self._file.read(_SECRET_LIMIT_BYTES)
        try:
            return read_key(data, self._path) if data else None
        except NotADevice:
            raise InvalidArgument(
                f"{self._path} is damaged: it has the key of a place that 'remote add' began and did not finish; put "
                f"it back, or remove it and have a machine that has the key invite this one"
            ) from None

    def save(self, key: RemoteKey) -> None:
        """Store the key. Raises: InvalidArgument if it cannot be written; nothing of it stays then."""
        self.forget()
        data = key.secret.encode()
        try:
            with writing_keys():
                if self._file.write(data) < len(data):  # what a full disk takes of it
                    raise OSError(ENOSPC, os.strerror(ENOSPC))
                os.fsync(self._file.fileno())
                flush_folder(self._path)
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        self._file.seek(0)
        self._file.truncate()


@contextmanager
def hold_begun(id: str) -> Iterator[BegunKey]:
    """Hold the file of a place; ``id`` is 16 hex digits. Another process that wants it waits until this one has ended.

    The file is removed at the end, unless it has a key. Raises: InvalidArgument if it cannot be made.
    """
    path = file_of(id, "begun")
    with writing_keys():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        held = _locked(path)
    with held as file:
        try:
            yield BegunKey(path, file)
        finally:
            if not os.fstat(file.fileno()).st_size:
                with suppress(OSError):  # one that stays says the same, for example where no open file can be removed
                    os.unlink(path)


def _locked(path: str) -> FileIO:
    while True:
        file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        if fcntl is not None:  # None on a system without such locks
            fcntl.flock(file, fcntl.LOCK_EX)
        # Whoever held it before may have removed it, and another process may hold a new one by now.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        file.close()
