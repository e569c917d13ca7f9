"""What 'headish serve' says of the remotes that it syncs with: a file in the server's folder, read by whoever asks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headish.store.keeping.spooled import find_serve_folder
from headish.values.results.sharing import SyncRun

SCHEDULE_FILE = "sync.json"
_LIMIT_BYTES = 1024 * 1024


def write_runs(folder: Path, runs: Iterable[SyncRun]) -> None:
    """Write what is known now, whole or not at all."""
    new = folder / f"{SCHEDULE_FILE}.new"
    opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(opened, "wb") as file:
        file.write(msgspec.json.encode(list(runs)))
    os.replace(new, folder / SCHEDULE_FILE)


def find_run(target: str | os.PathLike[str], space: str, remote: str) -> SyncRun | None:
    """How a server of this database syncs with a remote; None where none does, or has said so."""
    folder = find_serve_folder(target)
    if folder is None:
        return None
    try:
        with open(folder / SCHEDULE_FILE, "rb") as file:
            runs = msgspec.json.decode(file.read(_LIMIT_BYTES), type=list[SyncRun])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None  # no server has run here, or it is just about to write
    return next((each for each in runs if (each.space, each.remote) == (space, remote)), None)
