"""What a fuzzer begins with: files that the parsers take, by target.

    python tests/fuzz/seeds.py FOLDER

They are the cases of the tests: transcripts, streams of providers, a file of each import format, a bundle, what two
stores said to each other, and calls of a gateway.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from fuzz.framed import VECTOR, apply_to, as_loose, loosened, pieces_of  # noqa: E402
from headish import Store  # noqa: E402
from headish.bundles.live import LIVE, LiveKind  # noqa: E402
from headish.bundles.records import BUNDLE  # noqa: E402
from headish.imports.registry import READERS  # noqa: E402
from headish.store.backups.frames import BACKUP  # noqa: E402
from headish.store.keeping.sharing import live  # noqa: E402
from imports.samples import MADE  # noqa: E402
from support.lines import Line, line_to  # noqa: E402
from support.machines import machines  # noqa: E402
from support.spools import frames_of  # noqa: E402

WORDS = ("main~2^1@{yesterday}", '"retry policy" OR backoff* -tea', "@{2026-01-02T03:04:05Z}", "2 hours ago")
JSON = (
    '{"a":[1,-2.5e3,"\\u00e9\\ud83d\\ude00",null,true]}',
    '[{"role":"user","content":[{"type":"text","text":"x"}]}]',
)


def seeds() -> Iterator[tuple[str, bytes]]:
    """The name of a target, and what it takes."""
    for case in sorted((TESTS / "transcripts/cases").glob("*/*/text")):
        yield f"transcript-{case.parts[-3]}", case.read_bytes()
    for case in sorted((TESTS / "providers/cases").glob("*/*/events.jsonl")):
        events = case.read_bytes()
        yield f"reply-{case.parts[-3]}", events
        yield "events", b"".join(b"data: " + line + b"\n\n" for line in events.splitlines())
    for format in READERS.keys() & MADE.keys():
        yield f"import-{format}", MADE[format][1]()
    for text in (*WORDS, *JSON):
        yield from ((target, text.encode()) for target in ("words", "json", "messages"))
    yield "backup", BACKUP.magic
    yield from _between_stores()
    yield from _calls()


def _between_stores() -> Iterator[tuple[str, bytes]]:
    """Bundles, and both sides of a sync that brings something to each."""
    yield "bundle", loosened(VECTOR, BUNDLE)
    with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/a.db") as here, Store.open(":memory:") as there:
        for store, name in ((here, "here"), (there, "there")):
            apply_to(store, VECTOR)
            turn = store.add_turn(f"said {name}", continues="main", bookmark=name, key=name, meta={"a": 1})
            store.conversations.set(name, title="A title", tags=["x"])
            store.erase(store.add_turn("gone", bookmark="old").id, meta=True, reason="asked for")
            store.add_turn("a merge", continues=[turn.id, "old"])
        here.bundles.create(f"{folder}/bundle")
        yield "bundle", loosened(Path(f"{folder}/bundle").read_bytes(), BUNDLE)
        with machines(Path(folder)) as machine, line_to(there, trust=True) as line:
            desk = machine("desk", here)
            desk.add("cmd:x")
            asked, answered = _heard(line, desk.sync)
    hello, *questions = pieces_of(loosened(asked, LIVE))
    assert hello[0] == LiveKind.HELLO
    yield "live-questions", as_loose(*questions)
    yield from (("live-questions", as_loose(each)) for each in questions)
    yield "live-answers", loosened(answered, LIVE)


def _heard(line: Line, work: Callable[[], object]) -> tuple[bytes, bytes]:
    """What goes out and what comes back meanwhile."""
    out, back = BytesIO(), BytesIO()

    def listening(url: str, arguments: list[str]) -> Line:
        pipes = line(url, arguments).pipes
        read, write = pipes.read, pipes.write

        def hear(length: int) -> bytes:
            data = read(length)
            back.write(data)
            return data

        def say(data: bytes) -> None:
            out.write(data)
            write(data)

        pipes.read, pipes.write = hear, say  # type: ignore[method-assign]
        return line

    live.Command = listening  # type: ignore[assignment,misc]  # until the line ends
    work()
    return out.getvalue(), back.getvalue()


def _calls() -> Iterator[tuple[str, bytes]]:
    """Two calls of a client, as a segment of the spool has them, and a third that broke off."""
    first = b'{"model":"m","system":"Be brief.","messages":[{"role":"user","content":"Hi"}]}'
    second = first[:-2] + b',{"role":"assistant","content":"Yes"},{"role":"user","content":"Why?"}]}'
    [events] = (TESTS / "providers/cases/anthropic").glob("text/events.jsonl")
    stream = b"".join(b"data: " + line + b"\n\n" for line in events.read_bytes().splitlines())
    calls = [
        frames_of("0" * 25, first, b'{"role":"assistant",', b'"content":[{"type":"text","text":"Yes"}]}'),
        frames_of("0" * 25, second, stream),
        frames_of("0" * 25, b"{", ended=False),
    ]
    pieces = [(each.kind | number << 4, each.body) for number, call in enumerate(calls) for each in call]
    yield "spool", as_loose(*pieces)
    yield from (("spool", as_loose(*((each.kind, each.body) for each in call))) for call in calls)


def main(folder: Path) -> None:
    for number, (target, data) in enumerate(seeds()):
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / f"seed-{number:03}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
