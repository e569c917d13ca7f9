"""What the gateway adds to a call, interleaved with direct calls: processor time, waiting, memory.

    python tests/benchmarks/gateway.py [--quick]

One line per dimension. ``first``: from a request of 10 KB and of 1 MB to the first byte of its answer. ``event``: from
an event that the upstream sends to its arrival, at 1 and at 50 streams; ``socket``: the same through WebSockets, which
both ends compress. Upstream, client and gateway are processes of their own. Waiting is what a loaded machine makes of
it: believe the ratios of one run, and the processor's time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

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


async def send_events(connection: ServerConnection) -> None:
    """Answer a request in a WebSocket with events that carry when they were sent."""
    async for _ in connection:
        for _ in range(EVENTS):
            event = {"type": "response.output_text.delta", "delta": str(time.perf_counter_ns()), "item_id": "msg_1"}
            await connection.send(json.dumps(event))
            await asyncio.sleep(EVERY_SECONDS)
        await connection.send('{"type": "response.completed", "response": {"id": "resp_1", "output": []}}')


async def serve_sockets() -> None:
    """Serve WebSockets until the end of the input."""
    async with serve(send_events, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def ask_in_socket(place: str) -> list[float]:
    """The milliseconds that each event of an answer took."""
    taken: list[float] = []
    async with connect(place.replace("http", "ws", 1), proxy=None) as connection:
        await connection.send('{"type": "response.create", "model": "m", "input": "hello"}')
        async for message in connection:
            now = time.perf_counter_ns()
            event = json.loads(message)
            if event["type"] == "response.completed":
                return taken
            taken.append((now - int(event["delta"])) / 1e6)
    return taken


async def socket_events(place: str, streams: int) -> list[float]:
    """What events took in so many WebSockets."""
    listed = await asyncio.gather(*(ask_in_socket(f"{place}/v1/responses") for _ in range(streams)))
    return [each for taken in listed for each in taken]


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
            asyncio.run(serve_sockets())
        return
    with subprocess.Popen(
        [sys.executable, __file__, "--upstream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        upstream = Upstream()
        upstream.port = int(process.stdout.readline())
        sockets = f"http://127.0.0.1:{int(process.stdout.readline())}"
        others = ("--upstream", f"openai={sockets}")
        with tempfile.TemporaryDirectory() as folder, served(Path(folder), upstream, *others) as server:
            measure(upstream.url, f"{server.gateway}/anthropic", server.child("gateway"), options.quick)
            places = {"direct": sockets, "gateway": f"{server.gateway}/openai"}
            measure_events("socket", socket_events, places, server.child("gateway"), options.quick)
            print(f"memory of the gateway: {memory_mb(server.child('gateway')):.0f} MB")
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
    measure_events("event", events, places, gateway, quick)


def measure_events(
    label: str,
    ask_at: Callable[[str, int], Coroutine[None, None, list[float]]],
    places: dict[str, str],
    gateway: int,
    quick: bool,
) -> None:
    """What events take at 1 and at 50 streams."""
    for streams in (1, 50):
        taken: dict[str, list[float]] = {name: [] for name in places}
        rounds = 1 if quick else 3
        before = processor_seconds(gateway)
        for _ in range(rounds):
            for name, place in places.items():
                taken[name] += asyncio.run(ask_at(place, streams))
        cost = (processor_seconds(gateway) - before) * 1e6 / (rounds * streams * EVENTS)
        for name, each in taken.items():
            print(f"{label} {streams} streams {name}: {told(each)}")
        print(f"{label} {streams} streams: processor {cost:.0f} µs an event", flush=True)


if __name__ == "__main__":
    main()
