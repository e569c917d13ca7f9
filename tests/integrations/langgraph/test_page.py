"""docs/how-to/langgraph.md: its examples do what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.frameworks import not_installed

pytest.importorskip("langgraph.graph", reason=not_installed("langgraph"))

from support.pages import run_page

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]


def test_the_examples_print_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = run_page("langgraph.md")
    assert len(told) == 3
    assert all(printed == expected for printed, expected in told), told
