"""The small files of a server's folder: whole or not there, and no odd one harms whoever reads it."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from msgspec import Struct

from headish.gateway.files import read_whole, write_whole
from headish.gateway.passing.access import Access, AccessFile
from headish.gateway.spool.state import STATE_FILE, read_state
from headish.serve.access.logins import Logins

ODD = {"no UTF-8": b'{"tokens":["\xff"]}', "no JSON": b"{", "another": b"[1]", "too deep": b"[" * 100_000}


class _Said(Struct):
    words: list[str]


def test_a_reader_meets_no_half_of_a_file(tmp_path: Path) -> None:
    path, ended = tmp_path / "said.json", threading.Event()
    sizes = (1, 40_000)
    write_whole(path, _Said(["word"]))

    def write() -> None:
        for turn in range(60):
            write_whole(path, _Said(["word"] * sizes[turn % 2]))
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        said = read_whole(path, _Said)
        assert said is not None
        assert len(said.words) in sizes
    writer.join()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["said.json"]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_file_says_nothing(odd: bytes, tmp_path: Path) -> None:
    for name in ("access.json", STATE_FILE, "logins.json"):
        (tmp_path / name).write_bytes(odd)
    assert AccessFile(tmp_path / "access.json").now() == Access()
    assert read_state(tmp_path) is None
    logins = Logins(tmp_path, lambda: 0.0)
    assert not logins.is_session("cookie")
    code = logins.make_code()
    assert logins.redeem(code) is not None


def test_a_file_that_cannot_be_opened_is_not_taken_for_none(tmp_path: Path) -> None:
    """Else a server that has no file left to open would log everybody out."""
    (tmp_path / "logins.json").mkdir()
    with pytest.raises(OSError, match=r"logins\.json"):
        read_whole(tmp_path / "logins.json", _Said)
