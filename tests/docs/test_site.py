"""The site: its front page leads to every page, so that none is built which nobody finds."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
FRONT = DOCS / "index.md"
_TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def _named() -> list[str]:
    lines = [line for tree in _TREE.findall(FRONT.read_text()) for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def test_the_navigation_names_each_page_once() -> None:
    below_a_readme = {page for readme in DOCS.rglob("README.md") for page in readme.parent.rglob("*.md")}
    alone = set(DOCS.rglob("*.md")) - below_a_readme - {FRONT}
    tops = {
        page
        for page in DOCS.rglob("README.md")
        if not any(page.parent.is_relative_to(other.parent) for other in DOCS.rglob("README.md") if other != page)
    }
    assert sorted(_named()) == sorted(str(page.relative_to(DOCS).with_suffix("")) for page in alone | tops)


def test_the_front_page_sends_nobody_to_the_network() -> None:
    pictures = [path.read_text() for path in (DOCS / "pictures").glob("*.svg")]
    assert pictures
    assert not [text for text in [FRONT.read_text(), *pictures] if "url(" in text.replace("url(#", "")]
