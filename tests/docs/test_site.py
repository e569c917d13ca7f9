"""The site: its front page leads to every page, so that none is built which nobody finds."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
FRONT = DOCS / "index.md"
_TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
_CODE = re.compile(r"^( *)(```+|~~~+).*?^\1\2|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


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


def test_a_link_leads_to_a_file_that_the_site_has_too() -> None:
    """``make site`` also checks the anchors; here, none leads to what is not there or lies outside of docs/."""
    ways = [(page, link) for page in DOCS.rglob("*.md") for link in _LINK.findall(_CODE.sub("", page.read_text()))]
    ends = {(page, link): (page.parent / link.partition("#")[0]).resolve() for page, link in ways if "://" not in link}
    assert len(ends) > 500
    astray = [way for way, end in ends.items() if not (end.exists() and end.is_relative_to(DOCS))]
    assert not astray
