"""The rows of calls."""

from __future__ import annotations

from pathlib import Path

from headish import Store
from headish.database.query import Connection
from headish.rows.calls import StoredCall, add_call


def test_a_call_takes_no_page_of_its_own(tmp_path: Path) -> None:
    """A row of a table without ROWID that is longer than a quarter of a page takes a whole one besides."""

    def add(connection: Connection) -> None:
        for number in range(300):
            add_call(connection, 1, StoredCall(f"{number:025}", number, b"client", None, None, None, None, None, data))

    data, path = b"x" * 1200, tmp_path / "a.db"
    with Store.open(path) as store:
        before = path.stat().st_size
        store._write(add)
    assert path.stat().st_size - before < 2 * 300 * len(data)
