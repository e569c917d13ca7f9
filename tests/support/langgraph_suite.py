"""A plugin of pytest that runs LangGraph's own tests on ``HeadishSaver``.

Their tests come with the source of the package (``make test-peers-langgraph`` fetches it). Nothing of them is changed:
where they ask for ``SqliteSaver`` or ``InMemorySaver``, they are given ours. Tests that ask for neither are left out.

    python -m pytest -p support.langgraph_suite tests     in the folder of their source; NO_DOCKER=true

``HEADISH_SUITE_DB`` is the URL of a database to run them on, each in a space of its own. Where it is not set, each has
a new file. ``HEADISH_SUITE_REPORT`` is where to write which tests ran, and how each ended.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

sys.path.insert(0, os.getcwd())  # their tests import one another as ``tests``

import langgraph.checkpoint.memory as memory
import tests.conftest_checkpointer as fixtures

from headish.integrations.langgraph import HeadishSaver

NAMES = ("InMemorySaver", "MemorySaver")
_used = False
_ended: dict[str, str] = {}


class Counted(HeadishSaver):
    """Tells that a test stored something here: only then has it judged us."""

    def put(self, *given: Any, **named: Any) -> Any:
        global _used
        _used = True
        return super().put(*given, **named)


class InPlaceOfMemory(Counted):
    def __init__(self, *, serde: Any = None, factory: Any = None) -> None:
        super().__init__(":memory:", serde=serde)


@contextmanager
def ours() -> Iterator[HeadishSaver]:
    url = os.environ.get("HEADISH_SUITE_DB")
    if url:
        with Counted(url, space=f"suite-{uuid4().hex}") as saver:
            yield saver
        return
    with tempfile.TemporaryDirectory() as folder, Counted(Path(folder) / "a.db") as saver:
        yield saver


@contextmanager
def ours_encrypted() -> Iterator[HeadishSaver]:
    with ours() as saver:
        saver.serde = fixtures.EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456")
        yield saver


@asynccontextmanager
async def ours_async() -> AsyncIterator[HeadishSaver]:
    with ours() as saver:
        yield saver


for _name, _made in (("sqlite", ours), ("sqlite_aes", ours_encrypted), ("sqlite_aio", ours_async)):
    assert hasattr(fixtures, f"_checkpointer_{_name}")
    setattr(fixtures, f"_checkpointer_{_name}", _made)
for _name in NAMES:
    assert hasattr(memory, _name)
    setattr(memory, _name, InPlaceOfMemory)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for other savers, and, on a named database, what would not be there."""
    kept = [each for each in items if _is_for_us(each)]
    config.hook.pytest_deselected(items=[each for each in items if each not in kept])
    items[:] = kept


def _is_for_us(item: pytest.Item) -> bool:
    asked = dict(item.callspec.params) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    savers = [asked[each] for each in ("sync_checkpointer", "async_checkpointer") if each in asked]
    if savers:
        return savers[0] != "memory"
    return "HEADISH_SUITE_DB" not in os.environ and any(hasattr(getattr(item, "module", None), each) for each in NAMES)


def pytest_runtest_setup(item: pytest.Item) -> None:
    global _used
    _used = False


def pytest_runtest_logreport(report: Any) -> None:
    if report.outcome == "failed":
        _ended[report.nodeid] = "failed"
    elif report.when == "call" and (report.skipped or _used):
        _ended.setdefault(report.nodeid, report.outcome)


def pytest_sessionfinish() -> None:
    where = os.environ.get("HEADISH_SUITE_REPORT")
    if where:
        Path(where).write_text(json.dumps(_ended))
