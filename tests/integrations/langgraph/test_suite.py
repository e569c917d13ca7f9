"""LangGraph's own tests of graphs, as they come with its source, on our saver: see ``support/langgraph_suite.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.frameworks import not_installed

for _package in ("langgraph.checkpoint.sqlite", "langgraph.checkpoint.postgres", "syrupy", "pytest_mock", "redis"):
    pytest.importorskip(_package, reason=not_installed("langgraph with what its own tests need"))

ROOT = Path(__file__).parents[3]
SOURCE = Path(os.environ.get("LANGGRAPH_SOURCE") or Path(sys.prefix) / "suites" / "langgraph")
"""The unpacked source of the LangGraph that is installed."""

pytestmark = [
    pytest.mark.peers,
    pytest.mark.slow,
    pytest.mark.xdist_group("langgraph-suite"),
    pytest.mark.skipif(
        not (SOURCE / "tests").is_dir(),
        reason="the source of LangGraph, with its tests, is not here: `make test-peers-langgraph` fetches it, "
        "or LANGGRAPH_SOURCE names its folder",
    ),
]

PASSED = Path(__file__).with_name("passed.md")
ON_A_SERVER = 150

SUBJECTS = {
    "Delta channels": ("delta_channel", "channels"),
    "Interrupts, and how they are answered": ("interrupt", "strict_resume"),
    "Time travel: replays and forks": ("time_travel",),
    "State of subgraphs": ("subgraph_persistence",),
    "Checkpoints of old versions": ("checkpoint_migration",),
    "Runs, sends, commands, retries, updates, histories, the functional API": (
        "pregel.py", "pregel_async", "large_cases", "pydantic",
    ),
    "Events, callbacks, timeouts": ("",),
}  # fmt: skip
"""What their files are about, by how the names begin; the last row has all others."""

LOOK_INSIDE = {
    # The three read the attributes of InMemorySaver, and no other saver has them.
    "tests/test_channels.py::test_delta_channel_snapshot_version_based",
    "tests/test_delta_channel_update_state.py::test_bulk_update_state_replays_updates_in_the_order_given",
    "tests/test_delta_channel_update_state.py::test_abulk_update_state_replays_updates_in_the_order_given",
    # InMemorySaver gives a value although the checkpoint was stored without it: it looks for the channel's version.
    # SqliteSaver gives what was stored with the checkpoint, as ours does, and fails here, too.
    "tests/test_delta_channel_supersteps_bound.py::test_counter_reset_after_supersteps_snapshot",
}  # fmt: skip


def run(folder: Path, *files: str, **more: str) -> dict[str, str]:
    """How each test ended that used our saver, and each that failed."""
    report = folder / "report.json"
    paths = os.pathsep.join(str(ROOT / name) for name in ("store", "migrations", "cli", "tests"))
    ours = {"NO_DOCKER": "true", "PYTHONPATH": paths, "HEADISH_SUITE_REPORT": str(report)}
    # Their options measure and print what nobody reads here; they are run as they are.
    command = [sys.executable, "-m", "pytest", "-q", "--maxfail=20", "-o", "addopts=", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "support.langgraph_suite", *files],
        cwd=SOURCE,
        env=os.environ | ours | more,
        capture_output=True,
        text=True,
    )
    assert report.exists(), done.stdout[-5000:] + done.stderr[-5000:]
    return dict(json.loads(report.read_text()))


def with_a_saver() -> Iterator[str]:
    """Their files that have a saver, but those of PostgreSQL's own."""
    for path in sorted((SOURCE / "tests").glob("test_*.py")):
        text = path.read_text()
        if path.stem != "test_prune_postgres" and ("_checkpointer" in text or "MemorySaver" in text):
            yield f"tests/{path.name}"


def rows(ended: dict[str, str]) -> Iterator[str]:
    """The rows of the page's table: tests, and how many times they ran with their parameters and passed."""
    tests = {subject: set[str]() for subject in SUBJECTS}
    passed = dict.fromkeys(SUBJECTS, 0)
    for test, how in ended.items():
        name = test.removeprefix("tests/test_")
        subject = next(each for each, begins in SUBJECTS.items() if name.startswith(begins))
        tests[subject].add(test.split("[")[0])
        passed[subject] += how == "passed"
    for subject in SUBJECTS:
        yield f"| {subject} | {len(tests[subject])} | {passed[subject]} |"


def failed(ended: dict[str, str]) -> set[str]:
    return {test for test, how in ended.items() if how == "failed"}


def test_every_test_that_their_sqlite_saver_passes(tmp_path: Path) -> None:
    ended = run(tmp_path, *with_a_saver())
    assert failed(ended) == LOOK_INSIDE
    told = PASSED.read_text()
    assert [row for row in rows(ended) if row not in told] == []


def test_interrupts_and_time_travel_on_a_server(tmp_path: Path, postgresql_url: str) -> None:
    names = (
        "interruption",
        "interrupt_state",
        "strict_resume",
        "time_travel",
        "time_travel_async",
        "subgraph_persistence",
    )
    ended = run(tmp_path, *(f"tests/test_{name}.py" for name in names), HEADISH_SUITE_DB=postgresql_url)
    assert failed(ended) == set()
    assert sum(how == "passed" for how in ended.values()) >= ON_A_SERVER
