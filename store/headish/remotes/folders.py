"""List the files of a folder, whatever else people and file syncers put there."""

from __future__ import annotations

import os
import re
from contextlib import suppress

_STAGED = re.compile(r"#[0-9]+$")
"""How obstore ends the name of a file that it is still writing."""
_DEEPEST = 4
"""The most slashes in the path of an object: v1/SPACE/DEVICE/GENERATION/NUMBER.hb."""


def list_files(root: str, prefix: str) -> list[str]:
    """The paths of the files below a folder of ``root``, sorted; none if it is not there.

    obstore's own list fails as a whole for one name that is not UTF-8 or has a line break, and for links in a circle:
    then one stray file would stop every sync. Left out here are names that are not printable, which no object has,
    links that lead nowhere or to a folder that is listed already, and whatever lies deeper than an object: a link may
    lead to the whole disk. Raises: OSError for a folder that cannot be read.
    """
    paths, links, listed = list[str](), list[str](), set[tuple[int, int]]()
    folders = [prefix]
    while folders or links:
        # Links last: a folder is listed under its own path, even if links lead to it.
        folder = folders.pop() if folders else links.pop(0)
        for entry in _entries(os.path.join(root, folder), listed):
            path = f"{folder}/{entry.name}"
            with suppress(OSError):  # a link to itself
                if entry.is_dir():
                    if path.count("/") < _DEEPEST:
                        (links if entry.is_symlink() else folders).append(path)
                elif entry.is_file():
                    paths.append(path)
    return sorted(paths)


def _entries(folder: str, listed: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing if it is in ``listed``, to which it is added, or if it was removed meanwhile."""
    try:
        found = os.stat(folder)
        if (found.st_dev, found.st_ino) in listed:
            return []
        listed.add((found.st_dev, found.st_ino))
        with os.scandir(folder) as entries:
            return [each for each in entries if each.name.isprintable() and not _STAGED.search(each.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
