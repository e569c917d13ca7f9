"""The file of a backup that any database can read, in frames (``content/frames``).

::

    file  = "headish-backup-1" LF, header, *(space, *rows, counter), end
"""

from __future__ import annotations

from enum import IntEnum

from headish.content.frames import FrameFormat
from headish.errors import InvalidBackup


class FrameKind(IntEnum):
    """The kinds of frames."""

    HEADER = 1
    SPACE = 2
    ROWS = 3
    COUNTER = 4
    END = 5


BACKUP = FrameFormat(b"headish-backup-1\n", FrameKind, FrameKind.END, InvalidBackup, "a backup")
