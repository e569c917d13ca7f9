"""What a process has proven of a thread spares it hashes, and hides no damage that comes later."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headish import Store
from headish.errors import CorruptTurn, DatabaseCorrupt
from headish.history.reading.verified import OVERHEAD_BYTES, PROVEN, Recent
from headish.values.ids import TurnId

DAMAGED = (CorruptTurn, DatabaseCorrupt)
DAMAGES = {
    "another payload": "UPDATE turn SET data = CAST(replace(data, 'height', 'weight') AS BLOB) WHERE pos = 2",
    "a payload as text": "UPDATE turn SET data = CAST(data AS TEXT) || ' ' WHERE pos = 2",
    "another turn's payload": "UPDATE turn SET data = (SELECT data FROM turn WHERE pos = 0) WHERE pos = 2",
    "another turn's words": (
        "UPDATE turn SET (data, hash) = (SELECT o.data, o.hash FROM turn o WHERE o.pos = 0) WHERE pos = 2"
    ),
    "another role": "UPDATE turn SET role = 'assistant' WHERE pos = 2",
    "attributes": 'UPDATE turn SET attributes = CAST(\'{"speaker":"eve"}\' AS BLOB) WHERE pos = 2',
    "another digest": "UPDATE turn SET digest = (SELECT digest FROM turn WHERE pos = 0) WHERE pos = 2",
    "the first turn is gone": "DELETE FROM turn WHERE pos = 0",
    "a turn in the middle is gone": "DELETE FROM turn WHERE pos = 2",
    "the last turn is gone": "DELETE FROM turn WHERE pos = 3",
    "turns that changed places": (
        "UPDATE turn SET pos = pos + 10 WHERE pos IN (1, 3); UPDATE turn SET pos = 14 - pos WHERE pos > 9"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_that_comes_after_a_reading_is_found(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "headish.db"
    with Store.open(path) as store:
        texts = ["capital?", "Paris", "height?", "330 m"]
        store.add_turns([{"content": each, "bookmark": "main", **_behind(at)} for at, each in enumerate(texts)])
        for _ in range(2):
            assert [message.text for message in store.resolve("main").messages] == texts
        with closing(sqlite3.connect(path)) as driver:
            driver.executescript(damage)
        with pytest.raises(DAMAGED):
            store.resolve("main")
        with pytest.raises(DAMAGED):
            list(store.thread("main"))


def _behind(at: int) -> dict[str, int]:
    return {"continues": at - 1} if at else {}


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_a_gap_in_a_chain_that_is_walked_in_two_parts_is_named(tmp_path: Path, gap: int) -> None:
    path = tmp_path / "headish.db"
    with Store.open(path) as store:
        trunk = store.add_turns([{"content": str(at), **_behind(at)} for at in range(4)])
        fork = store.add_turn("fork", continues=trunk[1].id)
        store.add_turn("both", continues=[fork.id, trunk[3].id], bookmark="main")
        walked = ["0", "1", "fork", "2", "3", "both"]
        assert [message.text for message in store.resolve("main").messages] == walked
        with closing(sqlite3.connect(path)) as driver, driver:
            driver.execute("DELETE FROM turn WHERE id = ?", (trunk[gap].id,))
        with pytest.raises(CorruptTurn, match=r"it or one before it in its chain is missing"):
            store.resolve("main")


def test_an_erasure_leaves_no_words_in_memory(tmp_path: Path) -> None:
    with Store.open(tmp_path / "headish.db") as store:
        turn = store.add_turn("secret", bookmark="main")
        store.resolve("main")
        assert PROVEN.get(bytes.fromhex(turn.digest)) is not None
        store.erase("main", reason="asked to")
        assert PROVEN.get(bytes.fromhex(turn.digest)) is None


def test_what_is_read_while_it_is_erased_is_forgotten_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "headish.db"
    with Store.open(path) as store, Store.open(path) as reader:
        turn = store.add_turn("secret", bookmark="main")
        read: list[str] = []

        def reading_meanwhile() -> TurnId:
            read.append(reader.text("main") + reader.resolve("main").messages[0].text)
            return mint()

        mint = store._database.mint
        monkeypatch.setattr(store._database, "mint", reading_meanwhile)
        store.erase("main", reason="asked to", scrub=False)
        assert read[0] == "secretsecret"
        assert PROVEN.get(bytes.fromhex(turn.digest)) is None


def test_what_is_remembered_is_bounded() -> None:
    recent: Recent[int, bytes] = Recent(half_bytes=10 * OVERHEAD_BYTES)
    for number in range(100):
        recent.put_all({number: b""}, 0)
        assert recent.get(number) == b""
    kept = [number for number in range(100) if recent.get(number) is not None]
    assert 10 <= len(kept) <= 20
    assert kept == [*range(100 - len(kept), 100)]
    recent.put_all({100: b"large"}, 10 * OVERHEAD_BYTES)
    assert recent.get(100) is None
    assert recent.get(99) == b""
