"""The page of the formats that are imported, written from the table of their readers."""

from __future__ import annotations

from headish.imports.folders import LOGS
from headish.imports.readers.described import FORMATS, Described, Rows

TITLE = """# Import formats

{note}What each reader of `headish import` makes of a file. How it is used:
[Import from other programs](../how-to/import-from-other-programs.md). The files of frameworks and services have
[a page of their own](imports/frameworks-and-services.md). This applies to every format:
every branch is kept, a second import stores nothing, what has no place is kept under `app` or counted, and a record
that cannot be read costs itself.
"""


def write_imports(note: str) -> str:
    """Every format: where its file is, what becomes what, what is lost, and what was seen."""
    return TITLE.format(note=note) + "".join(_section(name, each) for name, each in FORMATS.items())


def _section(name: str, said: Described) -> str:
    watched = " `--watch` keeps its folder imported." if name in LOGS else ""
    facts = f"{said.where}{watched}\n\nFormat: `{name}`. Keys: `{said.key}`. Seen: {said.seen}.\n"
    maps = _table("in the file", "becomes", said.maps)
    return f"\n## {said.title}\n\n{facts}\n{maps}\n{_table('lost, or not read', 'why', said.lost)}"


def _table(left: str, right: str, rows: Rows) -> str:
    lines = [f"| {left} | {right} |", "|---|---|", *(f"| {one} | {other} |" for one, other in rows)]
    return "\n".join(lines) + "\n"
