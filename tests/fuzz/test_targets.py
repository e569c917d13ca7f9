"""The fuzzer's targets take what they begin with, and nonsense: a target that cannot run finds nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fuzz.seeds import seeds
from fuzz.targets import TARGETS


def test_each_target_takes_its_seeds_whole_and_damaged() -> None:
    given = [(target, data) for target, data in seeds() if len(data) < 4096]
    assert {target for target, _ in given} <= TARGETS.keys()
    for target, data in given:
        for each in (data, *_damaged(data)):
            TARGETS[target](each)


def test_each_target_takes_nonsense() -> None:
    for target in TARGETS.values():
        for data in (b"", b"{}", b"[[]]", b"\xff\xfe", b"null", bytes(range(256))):
            target(data)


def _damaged(data: bytes) -> Iterator[bytes]:
    drawn = random.Random(len(data))
    for _ in range(3):
        at = drawn.randrange(len(data))
        yield data[:at]
        yield data[:at] + bytes([drawn.randrange(256)]) + data[at + 1 :]
