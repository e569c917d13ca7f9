"""The pages of the adapters do what they show, where their framework is installed, and say first what goes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.frameworks import needs

PAGES = Path(__file__).resolve().parents[2] / "docs" / "how-to"
FRAMEWORKS = {"openai-agents": "agents", "langchain": "langchain_core", "google-adk": "google.adk"}
NEEDED = [pytest.param(page, marks=needs(module, page)) for page, module in FRAMEWORKS.items()]


@pytest.mark.slow
@pytest.mark.parametrize("page", NEEDED)
def test_the_example_of_a_page_prints_what_stands_below_it(page: str, tmp_path: Path) -> None:
    text = (PAGES / f"{page}.md").read_text("utf-8")
    [(code, expected)] = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", text, re.M | re.S)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


@pytest.mark.parametrize("page", FRAMEWORKS)
def test_the_first_line_of_a_page_says_whether_it_hides_or_erases(page: str) -> None:
    _, first, *_ = (PAGES / f"{page}.md").read_text("utf-8").split("\n\n")
    assert re.match(r"\*\*`\w+.* (hides?|erases)\*\*", first)
