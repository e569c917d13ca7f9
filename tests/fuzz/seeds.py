"""What a fuzzer begins with: files that the parsers take, by target.

    python tests/fuzz/seeds.py FOLDER

They are the cases of the tests: transcripts, streams of providers, and a file of each import format.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from headish.imports.registry import READERS  # noqa: E402
from headish.store.backups.frames import BACKUP  # noqa: E402
from imports.samples import MADE  # noqa: E402

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


def main(folder: Path) -> None:
    for number, (target, data) in enumerate(seeds()):
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / f"seed-{number:03}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
