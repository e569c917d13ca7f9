"""What the gateway adds to a call, interleaved with direct calls: processor time, waiting, memory.

    python tests/benchmarks/gateway.py [--quick]

One line per dimension. ``first``: from a request of 10 KB and of 1 MB to the first byte of its answer. ``event``: from
an event that the upstream sends to its arrival, at 1 and at 50 streams. Upstream, client and gateway are processes of
their own. Waiting is what a loaded machine makes of it: believe the ratios of one run, and the processor's time.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.served import served
from support.upstream import LAST, Asked, Upstream, chunked, head

EVENTS, EVERY_SECONDS = 100, 0.02


def script(asked: Asked):  # type: ignore[no-untyped-def]
    """Events that carry when they were sent, or one at once."""
    yield head(200, "text/event-stream")
    for _ in range(EVENTS if asked.target.endswith("events") else 1):
        yield from chunked([b"data: %d\n\n" % time.perf_counter_ns()])
        if asked.target.endswith("events"):
            yield EVERY_SECONDS
    yield LAST


async def ask(netloc: str, path: str, size: int) -> tuple[float, list[float]]:
    """The milliseconds to the first event, and those that each event took."""
    host, _, port = netloc.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    begun = time.perf_counter_ns()
    writer.write(f"POST {path} HTTP/1.1\r\nHost: {netloc}\r\nContent-Length: {size}\r\n\r\n".encode() + b" " * size)
    first, taken = 0.0, []
    while line := await reader.readline():
        now = time.perf_counter_ns()
        if line.startswith(b"data: "):
            first = first or (now - begun) / 1e6
            taken.append((now - int(line[6:])) / 1e6)
        elif line == b"0\r\n":
            break
    writer.close()
    return first, taken


def processor_seconds(number: int) -> float:
    """The processor's time that a process has taken."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(number: int) -> float:
    """The memory that a process holds."""
    status = Path(f"/proc/{number}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def firsts(places: dict[str, str], size: int, count: int) -> dict[str, list[float]]:
    """The times to the first byte, the places in turns."""
    times: dict[str, list[float]] = {name: [] for name in places}
    for _ in range(count):
        for name, place in places.items():
            parts = urlsplit(place)
            times[name].append((await ask(parts.netloc, f"{parts.path}/one", size))[0])
    return times


async def events(place: str, streams: int) -> list[float]:
    """What events took at so many streams."""
    parts = urlsplit(place)
    taken = await asyncio.gather(*(ask(parts.netloc, f"{parts.path}/events", 100) for _ in range(streams)))
    return [each for _, times in taken for each in times]


def told(times: list[float]) -> str:
    """Median and 99th percentile in milliseconds."""
    ordered = sorted(times)
    return f"p50 {statistics.median(ordered):.2f} ms, p99 {ordered[int(len(ordered) * 0.99)]:.2f} ms"


def main() -> None:
    """Measure, and print a line per dimension."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.upstream:
        with Upstream(script, keep_bodies=False) as upstream:
            print(upstream.port, flush=True)
            sys.stdin.read()
        return
    with subprocess.Popen(
        [sys.executable, __file__, "--upstream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        upstream = Upstream()
        upstream.port = int(process.stdout.readline())
        with tempfile.TemporaryDirectory() as folder, served(Path(folder), upstream) as server:
            measure(upstream.url, f"{server.gateway}/anthropic", server.child("gateway"), options.quick)
        assert process.stdin is not None
        process.stdin.close()


def measure(direct: str, through: str, gateway: int, quick: bool) -> None:
    """All dimensions."""
    places = {"direct": direct, "gateway": through}
    asyncio.run(firsts(places, 100, 20))
    for label, size, count in (("10 KB", 10_000, 200), ("1 MB", 1_000_000, 50)):
        count = count // 5 if quick else count
        before = processor_seconds(gateway)
        times = asyncio.run(firsts(places, size, count))
        cost = (processor_seconds(gateway) - before) * 1e3 / count
        for name, each in times.items():
            print(f"first {label} {name}: {told(each)}")
        added = statistics.median(times["gateway"]) - statistics.median(times["direct"])
        print(f"first {label} added: {added:.2f} ms; processor {cost:.2f} ms a call", flush=True)
    for streams in (1, 50):
        taken: dict[str, list[float]] = {name: [] for name in places}
        rounds = 1 if quick else 3
        before = processor_seconds(gateway)
        for _ in range(rounds):
            for name, place in places.items():
                taken[name] += asyncio.run(events(place, streams))
        cost = (processor_seconds(gateway) - before) * 1e6 / (rounds * streams * EVENTS)
        for name, each in taken.items():
            print(f"event {streams} streams {name}: {told(each)}")
        print(f"event {streams} streams: processor {cost:.0f} µs an event", flush=True)
    print(f"memory of the gateway: {memory_mb(gateway):.0f} MB")


if __name__ == "__main__":
    main()
