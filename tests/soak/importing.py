"""Rounds of imports that are killed or interrupted, and then run again: the space holds what one import would store.

What is compared is what was said, by digest and key, with names, records of conversations and objects. Ids differ, and
so does which of two conversations of one title has its name without a number where two imports ran at once.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from headish import Store
from imports import test_claude_code, test_codex
from imports.samples import DATABASES
from imports.test_chatgpt import as_zip, conversation, node, text
from soak.rounds import Failed, Round, Soak, Where, kind_of
from support.command import HEADISH

STRIKES = 3
PATIENCE_SECONDS = 120
SIZE = 20
"""So many conversations are in a source, of small ones ten times as many: an import of them takes about a second."""
WAYS = ("SIGKILL", "SIGINT", "two at once", "line by line")
GROWING = ("claude-code", "codex")
"""Formats whose files a program writes a line at a time; those of others are there whole."""
CUTS = 12


def kill_imports(soak: Soak) -> Round:
    """kill -9 or Ctrl-C of imports of one format after another, two of them at once, or one after each few lines that
    a running program writes; then one runs to its end."""
    number = soak.number()
    format = list(SOURCES)[number % len(SOURCES)]
    way = soak.chance.choice([each for each in WAYS if each != "line by line" or format in GROWING])
    return strike_imports(soak, soak.either("imports"), format, way)


def strike_imports(soak: Soak, where: Where, format: str, way: str) -> Round:
    """A round on one format, in spaces beside ``where``. Raises: Failed."""
    folder = soak.folder / f"source-{soak.number()}"
    folder.mkdir()
    source = SOURCES[format](folder)
    once, struck = _space(soak, where, f"{format}-once"), _space(soak, where, f"{format}-struck")
    began = time.monotonic()
    _succeed(_import(once, source))
    faults = _trouble(soak, struck, source, way, time.monotonic() - began)
    _succeed(_import(struck, source))
    stored = _compare(format, once, struck, way)
    if _added(_import(struck, source)):
        raise Failed(f"{struck}: a second import of {format} stores something")
    return Round(faults, stored, 0, f"{format} {way} on {kind_of(where)}")


def _trouble(soak: Soak, where: Where, source: Path, way: str, seconds: float) -> int:
    if way == "two at once":
        for process in [_import(where, source) for _ in range(2)]:
            _succeed(process)
        return 1
    if way == "line by line":
        return _grow(soak, where, source)
    for _ in range(STRIKES):
        process = _import(where, source)
        time.sleep(soak.chance.uniform(0.3 * seconds, seconds))
        process.send_signal(signal.Signals[way])
        _, told = process.communicate(timeout=PATIENCE_SECONDS)
        if process.returncode not in _ENDS or b"Traceback" in told:
            raise Failed(f"{where}: an import that was struck ended with {process.returncode}: {told.decode()}")
    return STRIKES


def _grow(soak: Soak, where: Where, source: Path) -> int:
    """Import a folder whose files grow, each by some lines and perhaps a half one. How often it was imported."""
    files = {file.name: file.read_bytes() for file in source.iterdir()}
    growing = source.with_name(f"{source.name}-growing")
    growing.mkdir()
    for cut in range(1, CUTS + 1):
        for name, data in files.items():
            length = len(data) * cut // CUTS
            lines = data[:length].rfind(b"\n") + 1
            (growing / name).write_bytes(data[: soak.chance.choice([length, lines])])
        _succeed(_import(where, growing))
    return CUTS


_ENDS = (0, 130, -signal.SIGKILL, -signal.SIGINT)
"""Of an import that was struck; the last where the interpreter was about to end."""


def _compare(format: str, once: Where, struck: Where, way: str = "") -> int:
    """How many turns there are. A session that grew keeps the name that its first lines gave it.

    Raises: Failed where the two spaces differ.
    """
    with _open(once) as one, _open(struck) as other:
        is_named = way != "line by line"
        wanted, found = contents(one, is_named=is_named), contents(other, is_named=is_named)
        problems = other.verify().problems
    for part in wanted:
        if wanted[part] != found[part]:
            missing, more = wanted[part] - found[part], found[part] - wanted[part]
            raise Failed(f"{struck}: {format}: {part}: lacks {_few(missing)}, has beside it {_few(more)}")
    if problems:
        raise Failed(f"{struck}: {format}: verify finds {problems[:5]}")
    return sum(wanted["turns"].values())


def _few(found: Counter[Any]) -> list[Any]:
    return list(islice(found.elements(), 3))


def contents(store: Store, *, is_named: bool = True) -> dict[str, Counter[Any]]:
    """What a space holds, whichever ids and times of storing its turns have, and names if they are not compared."""
    digests = {turn.id: turn.digest for turn in store.turns()}
    turns: Counter[Any] = Counter()
    for turn in store.turns():
        facts = turn.to_dict()["meta"]
        own = {key: facts[key] for key in facts if key not in _OF_THE_STORE}
        before = [digests[each] for each in facts.get("continues", ())]
        turns[json.dumps([turn.digest, before, own], sort_keys=True)] += 1
    names: Counter[Any] = Counter((is_named and name, digests[store.bookmarks[name]]) for name in store.bookmarks)
    records: Counter[Any] = Counter()
    for entry in store.conversations.list(limit=1000, archived=None).entries:
        about = entry.conversation.to_dict()
        left = (*_OF_THE_STORE, "app", *(() if is_named else ("name",)))
        own = {key: about[key] for key in about if key not in left}
        records[json.dumps([digests[about["turn"]], own], sort_keys=True)] += 1
    objects: Counter[Any] = Counter((each.key, bytes(each.data)) for each in store.objects.list("headish.imported"))
    return {"turns": turns, "names": names, "records": records, "objects": objects}


_OF_THE_STORE = ("continues", "supersedes", "time", "stored_at", "id", "turn", "first", "revision")
"""What is another in each space."""


def _claude_code(folder: Path) -> Path:
    lines = test_claude_code.session(*test_claude_code.WORK).getvalue()
    for number in range(SIZE):
        mine = lines.replace(b'uuid": "', f'uuid": "{number}-'.encode()).replace(b"msg_", f"msg_{number}_".encode())
        mine = mine.replace(b'parentUuid": "', f'parentUuid": "{number}-'.encode()).replace(
            b"5f1c0a52", b"%08d" % number
        )
        (folder / f"{number}.jsonl").write_bytes(mine)
    return folder


def _codex(folder: Path) -> Path:
    lines = test_codex.rollout(*test_codex.WORK).getvalue()
    for number in range(SIZE):
        (folder / f"rollout-{number}.jsonl").write_bytes(lines.replace(b"0197aaaa", b"%08d" % number))
    return folder


def _chatgpt(folder: Path) -> Path:
    """Many share a title, and each shows the picture."""
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-AbC1", "size_bytes": 3}
    talks = []
    for number in range(SIZE * 10):
        said = [node("n0", "root", "user", {"content_type": "multimodal_text", "parts": [image, f"Question {number}"]})]
        said += [
            node(f"n{each}", f"n{each - 1}", ("user", "assistant")[each % 2], text(f"{number} {each} " + "w " * 200))
            for each in range(1, 10)
        ]
        talks.append(conversation(f"c{number}", f"Talk {number % 20}", *said))
    path = folder / "export.zip"
    path.write_bytes(as_zip({"conversations.json": talks, "file-AbC1-photo.png": b"\x89PNG" * 50_000}).getvalue())
    return path


def _llm(folder: Path) -> Path:
    path = folder / "logs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DATABASES["llm"][1]())
        for number in range(SIZE * 10):
            connection.execute("INSERT INTO conversations VALUES (?, ?, 'm')", (f"x{number}", f"Talk {number % 20}"))
            for each in range(5):
                columns = "id, model, prompt, response, conversation_id, datetime_utc"
                values = (f"x{number}-{each}", "m", f"Ask {number} {each}", f"Say {number} {each}", f"x{number}")
                time = f"2025-02-02T03:{each:02}:04"
                connection.execute(f"INSERT INTO responses ({columns}) VALUES (?, ?, ?, ?, ?, ?)", (*values, time))
        connection.commit()
    return path


def _langgraph(folder: Path) -> Path:
    path = folder / "graph.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DATABASES["langgraph"][1]())
        for table in ("checkpoints", "writes"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rest = ", ".join(columns[1:])
            for number in range(SIZE):
                copied = f"SELECT 'copy {number} of ' || thread_id, {rest} FROM {table} WHERE thread_id IN ('t1', 't2')"
                connection.execute(f"INSERT INTO {table} (thread_id, {rest}) {copied}")
        connection.commit()
    return path


SOURCES: dict[str, Callable[[Path], Path]] = {
    "claude-code": _claude_code, "codex": _codex, "chatgpt": _chatgpt, "llm": _llm, "langgraph": _langgraph,
}  # fmt: skip
"""A source of each format, made in a folder."""


def _space(soak: Soak, where: Where, name: str) -> Where:
    """A place that holds nothing, of the same kind."""
    if kind_of(where) == "PostgreSQL":
        return Where(where.target, f"{name}-{soak.number()}")
    return Where(str(soak.folder / f"{name}-{soak.number()}.db"), "default")


def _open(where: Where) -> Store:
    return Store.open(where.target, space=where.space)


def _import(where: Where, source: Path) -> subprocess.Popen[bytes]:
    command = [HEADISH, "--db", where.target, "--space", where.space, "import", "--json", str(source)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _succeed(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    if process.returncode:
        raise Failed(f"{process.args}: {errors.decode()}")
    said: dict[str, Any] = json.loads(out)
    return said


def _added(process: subprocess.Popen[bytes]) -> int:
    return int(_succeed(process)["added"])
