"""Processes of one peer that append to one thread and begin together."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.canonical import encode
from benchmarks.plain import said_by


class Failed(Exception):
    """A writer gave up, or a turn is missing."""


def race(kind: Any, folder: Path, processes: int, each: int) -> float:
    """Turns a second. What all wrote is there once, outside the clock. Raises: Failed."""
    context = get_context("spawn")
    barrier = context.Barrier(processes + 1)
    first = kind(folder)
    asyncio.run(first.append(said_by(processes, 1)))
    running = [context.Process(target=write, args=(kind, folder, each, n, barrier)) for n in range(processes)]
    for process in running:
        process.start()
    barrier.wait()
    started = time.perf_counter()
    for process in running:
        process.join()
    seconds = time.perf_counter() - started
    if any(process.exitcode for process in running):
        raise Failed(f"a writer of {kind.__name__} failed")
    found = [first.said(message) for message in asyncio.run(first.load())]
    asyncio.run(first.close())
    said = [one for writer in range(processes) for one in said_by(writer, each)] + said_by(processes, 1)
    if Counter(map(encode, found)) != Counter(map(encode, said)):
        raise Failed(f"{kind.__name__} holds other turns than its writers stored")
    return processes * each / seconds


def write(kind: Any, folder: Path, each: int, writer: int, barrier: Any) -> None:
    asyncio.run(write_all(kind(folder), said_by(writer, each), barrier))


async def write_all(peer: Any, said: list[Any], barrier: Any) -> None:
    barrier.wait()
    for one in said:
        await peer.append([one])
    await peer.close()
