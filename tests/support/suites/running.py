"""Run tests of a framework that come with its source on our class, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.frameworks import not_installed

ROOT = Path(__file__).parents[3]
OURS = os.pathsep.join(str(ROOT / name) for name in ("store", "migrations", "cli", "tests"))


def source_of(package: str) -> Path:
    """The folder of a package's unpacked source: that of the version that is installed."""
    named = os.environ.get(f"{package.upper().replace('-', '_')}_SOURCE")
    return Path(named) if named else Path(sys.prefix) / "suites" / package


def judged_by(package: str, peer: str, *needed: str) -> list[pytest.MarkDecorator]:
    """The marks of a module that runs a package's own tests, which import what is ``needed``."""
    missing = [each for each in needed if find_spec(each) is None]
    return [
        pytest.mark.peers,
        pytest.mark.slow,
        pytest.mark.xdist_group(f"{peer}-suite"),
        pytest.mark.skipif(bool(missing), reason=not_installed(f"{package} with what its own tests need")),
        pytest.mark.skipif(
            not (source_of(package) / "tests").is_dir(),
            reason=f"the source of {package}, with its tests, is not here: `make test-peers-{peer}` fetches it, "
            f"or {package.upper().replace('-', '_')}_SOURCE names its folder",
        ),
    ]


def run(plugin: str, source: Path, report: Path, *files: str, **more: str) -> dict[str, str]:
    """How each test ended that used our class, and each that failed."""
    # Their options measure and print what nobody reads here; they are run as they are.
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "support.suites.judged", "-p", f"support.suites.{plugin}", *files],
        cwd=source,
        env=os.environ | {"PYTHONPATH": OURS, "HEADISH_SUITE_REPORT": str(report)} | more,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout[-5000:] + done.stderr[-5000:]  # else they did not come to their end
    return dict(json.loads(report.read_text()))


def failed(ended: dict[str, str]) -> set[str]:
    """The tests that failed, each once whatever its parameters."""
    return {test.split("[")[0] for test, how in ended.items() if how == "failed"}


def rows(ended: dict[str, str], files: Collection[str]) -> Iterator[str]:
    """The rows of a page's table: a file, how many cases of it passed, how many look inside of their class."""
    for file in files:
        of_it = [how for test, how in ended.items() if test.startswith(f"{file}::")]
        yield f"| `{file.removeprefix('tests/')}` | {of_it.count('passed')} | {of_it.count('failed')} |"
