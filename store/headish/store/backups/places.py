"""Write files that get their name only when they are complete. No name ever shows half a file; nothing is
overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headish.errors import DatabaseFull, DatabaseUnavailable, FileTaken
from headish.values.checks.files import flush


@contextmanager
def whole_file(path: str, mode: int = 0o600) -> Iterator[str]:
    """Yield a path beside ``path`` to write to; at the end of the block the file gets the name ``path``.

    The file has ``mode`` from the start: a private one must not be readable meanwhile. A backup holds every word of the
    database, so only its owner may read it.
    Raises: FileTaken if ``path`` exists at the start or at the end; DatabaseUnavailable for an error of the system.
    """
    if os.path.lexists(path):
        raise FileTaken(path)
    part = f"{path}.part-{os.urandom(4).hex()}"
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        try:
            yield part
            # Before the name is given: otherwise a loss of power may leave an empty file of that name.
            flush(part)
            _give_name(part, path)
        finally:
            # SQLite leaves these behind where it is cut off while it writes the copy.
            for each in (part, f"{part}-wal", f"{part}-shm", f"{part}-journal"):
                with suppress(FileNotFoundError):
                    os.unlink(each)
    except OSError as error:
        raise DatabaseUnavailable(path, f"it cannot be written ({error.strerror})") from error
    except (DatabaseFull, DatabaseUnavailable) as error:
        # By its own name: what was written of it is gone.
        raise (type(error)(path, error.reason) if error.target == part else error) from error.__cause__


def _give_name(part: str, path: str) -> None:
    try:
        os.link(part, path)  # unlike a rename, it never replaces what another process has put there
    except FileExistsError:
        raise FileTaken(path) from None
    except OSError:
        if os.path.lexists(path):
            raise FileTaken(path) from None
        os.rename(part, path)  # a file system without links
    flush(os.path.dirname(os.path.abspath(path)))
