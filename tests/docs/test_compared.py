"""docs/explanation/compared.md: a test checks each line that it says of headish."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from headish.providers import PROVIDERS

ROOT = Path(__file__).resolve().parents[2]
compared = runpy.run_path(str(ROOT / "docs" / "compared.py"))


@pytest.mark.parametrize("feature", compared["FEATURES"], ids=lambda feature: feature.name)
def test_a_feature_is_held_by_a_test_that_is_there(feature: Any) -> None:
    assert len(feature.theirs) == len(compared["PEERS"])
    assert bool(feature.test) == (feature.ours != "no"), "what headish has not needs no test"
    path, *names = feature.test.split("::")
    assert bool(names) == bool(path), "a whole module tests more than one line says"
    body = ast.parse((ROOT / path).read_text("utf-8")).body if path else []
    for name in names:
        [found] = [node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
        body = found.body


def test_a_number_of_the_table_is_that_of_the_library() -> None:
    ours = {feature.name: feature.ours for feature in compared["FEATURES"]}
    assert ours["Requests for several providers from one history"] == "six"
    assert len(PROVIDERS) == 6


def test_every_figure_is_of_a_peer_that_the_page_names() -> None:
    lines = compared["FIGURES"].read_text("utf-8").splitlines()
    assert lines
    titled = {*compared["TITLES"], compared["SAVER"]}
    assert all(dict(field.split("=", 1) for field in line.split())["peer"] in titled for line in lines)


def test_the_page_of_speed_names_no_version_of_a_peer() -> None:
    """One table has them, from the pins of what is measured."""
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text("utf-8")
    peers = r"Agents SDK|SqliteSaver`|SQLChatMessageHistory`|LogStore`|\bllm|ADK"
    assert re.findall(rf"(?:{peers}) \d[\d.]*", page) == []
    assert "openai-agents` 0." in (ROOT / "docs" / "explanation" / "compared.md").read_text("utf-8")
