"""Folders that cannot be written, and disks that are soon full: real ones, where the test may mount them.

Used by tests/database for read-only media, and by tests/soak for full disks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoMount(Exception):
    """A mount is needed, and refused. The message says by whom."""


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The folder as a read-only medium: mounted so for root, who may write anywhere else; by permissions for others.

    Raises: NoMount.
    """
    if os.name != "posix" or os.geteuid() != 0:
        files = [path for path in folder.iterdir() if path.is_file()]
        for path in files:
            path.chmod(0o444)
        folder.chmod(0o555)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
            for path in files:
                path.chmod(0o644)
        return
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield folder
    finally:
        _unmount(folder)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk in memory of so many megabytes. Raises: NoMount."""
    _mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _unmount(folder)


def _mount(*words: str) -> None:
    try:
        done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoMount(f"mount cannot be run ({error.strerror})") from None
    if done.returncode:
        raise NoMount(f"mount is refused ({done.stderr.strip()}); run this as a user who may mount")


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
