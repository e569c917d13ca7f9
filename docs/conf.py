"""The site that is built from these pages. `make site` needs no network, and fails at a link that leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

VERSION = Path(__file__).parents[1] / "store/headish/version.py"

project = "headish"
author = "the headish developers"
copyright = "the headish developers, Apache-2.0"
release = version = re.search(r'"(.+)"', VERSION.read_text())[1]  # pyright: ignore[reportOptionalSubscript]

extensions = ["myst_parser"]
exclude_patterns = ["figures"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
# Together with --fail-on-warning: a reference that leads nowhere stops the build.
nitpicky = True
# Shell transcripts also show what is printed, such as tables, which the lexer cannot read: not an error of the page.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "headish"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2b5f8a", "color-brand-content": "#2b5f8a"},
    "dark_css_variables": {"color-brand-primary": "#8ab8dd", "color-brand-content": "#8ab8dd"},
    "navigation_with_keys": False,
}


def append_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the pages beside a README to it in the navigation. In the repository it stays plain Markdown."""
    folder = (Path(app.srcdir) / name).parent
    if name.endswith("/README"):
        entries = ["*", *(f"{below.parent.name}/README" for below in sorted(folder.glob("*/README.md")))]
        source[0] += "\n\n" + "\n".join(["```{toctree}", ":hidden:", ":glob:", *entries, "```", ""])


def setup(app: Sphinx) -> None:
    """Called by Sphinx at its start."""
    app.connect("source-read", append_pages)
