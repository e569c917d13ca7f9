"""How far the recorder is, as it says in a file beside the spool."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

STATE_FILE = "recorder.json"


class RecorderState(Struct, frozen=True):
    """How far the recorder is: how many calls it has stored since it began, how many it could not store, how many that
    have ended wait, for how many milliseconds the first of them has, and what the database said last where it fails."""

    at: int
    stored: int
    failed: int
    waiting: int
    lag_milliseconds: int
    problem: str | None = None


def read_state(folder: Path) -> RecorderState | None:
    """How far the recorder of a folder is; None where there was none."""
    try:
        return msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=RecorderState)
    except (OSError, msgspec.MsgspecError):
        return None
