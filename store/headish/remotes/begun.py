"""The key of a place that this machine is making: a file beside the keys, so that the next process can go on if this
one is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headish.errors import InvalidArgument, NotADevice
from headish.remotes.keys import RemoteKey, file_of, read_key
from headish.values.forking import fcntl

_SECRET_LIMIT_BYTES = 4096


class BegunKey:
    """The file while this process holds it. Empty, it says that nothing was begun."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def load(self) -> RemoteKey | None:
        """The key that a process of this machine began with before it was killed; None if there is none. Raises:
        InvalidArgument."""
        data = os.pread(self._descriptor, _SECRET_LIMIT_BYTES, 0)
        try:
            return read_key(data, self._path) if data else None
        except NotADevice:
            raise InvalidArgument(
                f"{self._path} is damaged: it has the key of a place that 'remote add' began and did not finish; put "
                f"it back, or remove it and have a machine that has the key invite this one"
            ) from None

    def save(self, key: RemoteKey) -> None:
        self.forget()
        os.pwrite(self._descriptor, key.secret.encode(), 0)
        os.fsync(self._descriptor)

    def forget(self) -> None:
        os.ftruncate(self._descriptor, 0)


@contextmanager
def hold_begun(id: str) -> Iterator[BegunKey]:
    """Hold the file of a place; ``id`` is 16 hex digits. Another process that wants it waits until this one has ended.

    The file is removed at the end, unless it has a key.
    """
    path = file_of(id, "begun")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = _lock(path)
    try:
        yield BegunKey(path, descriptor)
    finally:
        if not os.fstat(descriptor).st_size:
            with suppress(FileNotFoundError):
                os.unlink(path)
        os.close(descriptor)


def _lock(path: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        if fcntl is not None:  # None on a system without such locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Whoever held it before may have removed it, and another process may hold a new one by now.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)
