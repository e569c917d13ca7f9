"""Lists that people keep by hand: each names what there is, once, and in the order that a reader looks for it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FIRST_CELL = re.compile(r"^\| (?P<cell>[^|]+?) \|", re.M)


def test_the_list_of_decisions_has_each_page_once_in_order() -> None:
    listed = re.findall(r"^\| \[(\d{4})\]\((\S+)\)", (ROOT / "docs/adr/README.md").read_text("utf-8"), re.M)
    pages = sorted(path.name for path in (ROOT / "docs/adr").glob("[0-9]*.md"))
    assert listed == [(page[:4], page) for page in pages]


def test_the_glossary_has_each_word_once_in_order() -> None:
    table = (ROOT / "docs/reference/glossary.md").read_text("utf-8").split("\n## ")[0]
    words = [match["cell"].lower() for match in _FIRST_CELL.finditer(table)][1:]
    assert len(words) > 100
    assert words == sorted(set(words), key=lambda word: (word.split(" (")[0], word))


def test_the_readme_names_each_how_to_page_once() -> None:
    named = re.findall(r"\]\((docs/how-to/\S+?)\)", (ROOT / "README.md").read_text("utf-8").split("\n## How to\n")[1])
    # A release is made by those who contribute; their page names it.
    pages = {f"docs/how-to/{path.name}" for path in (ROOT / "docs/how-to").glob("*.md")} - {"docs/how-to/release.md"}
    assert sorted(named) == sorted(pages)


def test_the_page_about_installing_has_each_extra_once() -> None:
    page = (ROOT / "docs/how-to/install.md").read_text("utf-8")
    table = page.split("| you want | extra |")[1].split("\n\n")[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert sorted(re.findall(r"`([a-z-]+)`", table)) == sorted(project["optional-dependencies"])
