"""docs/explanation/compared.md says of headish what tests hold true."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
compared = runpy.run_path(str(ROOT / "docs" / "compared.py"))


@pytest.mark.parametrize("feature", compared["FEATURES"], ids=lambda feature: feature.name)
def test_a_feature_is_held_by_a_test_that_is_there(feature: Any) -> None:
    assert len(feature.theirs) == len(compared["PEERS"])
    assert bool(feature.test) == (feature.ours != "no"), "what headish has not needs no test"
    path, _, name = feature.test.partition("::")
    if path:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        found = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        assert name in found or not name


def test_every_figure_is_of_a_peer_that_has_a_title() -> None:
    lines = compared["FIGURES"].read_text("utf-8").splitlines()
    assert lines
    assert all(dict(field.split("=", 1) for field in line.split())["peer"] in compared["TITLES"] for line in lines)


def test_the_page_of_speed_names_no_version_of_a_peer() -> None:
    """One table has them, from the pins of what is measured."""
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text("utf-8")
    peers = r"Agents SDK|SqliteSaver`|SQLChatMessageHistory`|LogStore`|\bllm|ADK"
    assert re.findall(rf"(?:{peers}) \d[\d.]*", page) == []
    assert "openai-agents` 0." in (ROOT / "docs" / "explanation" / "compared.md").read_text("utf-8")
