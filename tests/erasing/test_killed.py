"""An eraser that is killed at any step: nothing is done, or ``gc`` finishes it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headish import Database, Store
from headish.errors import TurnErased
from headish.values.limits import INLINE_BYTES
from support.erasers import STEPS
from support.places import FilePlace, Place

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system"),
]
SECRET = "xylophone-4711 " + "z" * INLINE_BYTES


def kill(place: Place, space: str, step: str, *ids: str) -> None:
    command = [sys.executable, "-m", "support.erasers", place.target, space, step, *ids]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[1], check=False)
    assert done.returncode == -signal.SIGKILL


def is_on_disk(place: Place) -> bool:
    if not isinstance(place, FilePlace):
        return False
    return any(SECRET[:14].encode() in each.read_bytes() for each in place.path.parent.iterdir())


@pytest.mark.parametrize("step", STEPS)
def test_turns_are_erased_or_they_are_not(durable_place: Place, step: str) -> None:
    store = durable_place.open()
    turn = store.add_turn(SECRET, bookmark="main")
    twin = store.add_turn("short", continues="main")
    kill(durable_place, store.space, step, turn.id, twin.id)
    receipts = [each for each in store.erasures if each.covers is None]
    if receipts:
        for each in (turn, twin):
            with pytest.raises(TurnErased):
                store.text(each.id)
    else:
        assert store.text(turn.id) == SECRET
    assert bool(receipts) == (step in STEPS[2:])
    assert store.verify().problems == ()
    assert len(store.erase([turn.id, twin.id], reason="again").found.turns) == (0 if receipts else 2)
    assert Database(store._database).gc(scrub=True).scrubbed
    assert store.erasures.is_scrubbed
    assert not is_on_disk(durable_place)
    assert store.verify().problems == ()


@pytest.mark.parametrize("step", ["before the commit", "before the scrub"])
def test_a_space_is_erased_or_it_is_not(durable_place: Place, step: str) -> None:
    store = durable_place.open("person")
    store.add_turn(SECRET, bookmark="main")
    kill(durable_place, store.space, step)
    database = Database(store._database)
    assert (store.space in database.spaces) == (step == "before the commit")
    if store.space in database.spaces:
        database.spaces.erase(store.space, reason="again")
    assert database.gc(scrub=True).scrubbed
    assert not is_on_disk(durable_place)
    with Store.open(durable_place.target, space=f"erased-{store._number}", create=False) as left:
        assert (len(list(left.turns())), left.verify().problems) == (0, ())
