"""The command, run inside the test's process, and as a process of its own.

Used by tests/cli and tests/docs, and wherever a test wants to see what a person would type.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from unittest.mock import patch

from click.testing import CliRunner

from headish_cli.main import main

HEADISH = Path(sys.executable).parent / "headish"


class Done(NamedTuple):
    """What a command left: exit code, data and words."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """``headish`` on one database. Calling it expects success; ``fails`` expects one line and exit code 1, ``refuses``
    one line and 2."""

    def __init__(self, target: str) -> None:
        self.target = target

    def run(self, *words: str, stdin: str | bytes | None = None) -> Done:
        names = ("HEADISH_DB", "HEADISH_SPACE", "HEADISH_READ_ONLY", "HEADISH_AUTHOR", "HEADISH_PTR")
        runner = CliRunner(env=dict.fromkeys(names))
        result = runner.invoke(main, ["--db", self.target, *words], input=stdin, prog_name="headish")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    def __call__(self, *words: str, stdin: str | bytes | None = None) -> Done:
        done = self.run(*words, stdin=stdin)
        assert done.code == 0, done
        return done

    def fails(self, *words: str, stdin: str | bytes | None = None) -> str:
        return self._line(1, words, stdin)

    def refuses(self, *words: str, stdin: str | bytes | None = None) -> str:
        return self._line(2, words, stdin)

    def _line(self, code: int, words: tuple[str, ...], stdin: str | bytes | None) -> str:
        done = self.run(*words, stdin=stdin)
        assert done.code == code, done
        assert done.out == ""
        assert done.err.count("\n") == 1, done.err
        return done.err.removeprefix("headish: ").removesuffix("\n")

    def misused(self, *words: str, stdin: str | bytes | None = None) -> str:
        done = self.run(*words, stdin=stdin)
        assert done.code == 2, done
        return done.err

    def id(self, *words: str) -> str:
        """The id that a command prints."""
        return self(*words).out.strip()


def start(*words: str, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, waited for."""
    cleaned = {key: value for key, value in os.environ.items() if not key.startswith("HEADISH_")}
    cleaned["HEADISH_CONFIG"] = os.devnull
    return subprocess.run(
        [HEADISH, *words], env={**cleaned, **(env or {})}, capture_output=True, timeout=60, check=False, **options
    )


def run_here(*words: str, folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Exit code and output of the command in a folder, run inside the test's process; its errors stand where a terminal
    would show them."""
    nothing, out = open(os.devnull, encoding="utf-8"), TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
    with nothing, out, chdir(folder), patch.dict(os.environ, env, clear=True), patch.object(sys, "stdin", nothing):
        with redirect_stdout(out), redirect_stderr(out):
            try:
                code = main.main(list(words), prog_name="headish")
            except SystemExit as end:
                code = end.code
        out.seek(0)
        return int(code or 0), out.read()


def at_terminal(*words: str, columns: int = 80, env: Mapping[str, str] | None = None) -> str:
    """What the command, run inside the test's process, writes to a terminal, its stderr too."""
    import pty

    ours, theirs = pty.openpty()
    cleaned = {key: value for key, value in os.environ.items() if not key.startswith(("HEADISH_", "NO_COLOR"))}
    cleaned["HEADISH_CONFIG"] = os.devnull
    given = {**cleaned, "TERM": "xterm", "COLUMNS": str(columns), **(env or {})}
    with ThreadPoolExecutor(1) as pool, patch.dict(os.environ, given, clear=True):
        written = pool.submit(_read_all, ours)
        terminal = os.fdopen(theirs, "w", encoding="utf-8")
        with terminal, redirect_stdout(terminal), redirect_stderr(terminal):
            try:
                main.main(list(words), prog_name="headish")
            except SystemExit:
                pass
        return written.result().decode().replace("\r\n", "\n")


def _read_all(terminal: int) -> bytes:
    written = b""
    try:
        while piece := os.read(terminal, 65536):
            written += piece
    except OSError:
        pass  # so Linux says that no process has the other end open
    os.close(terminal)
    return written
