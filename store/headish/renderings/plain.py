"""A page as plain text: the true text, which a program that writes to a terminal escapes first."""

from __future__ import annotations

from headish.renderings.pages import BOUNDARY, EDITED, INCOMPLETE, PageMessage, Part, ThreadPage


def render_plain(page: ThreadPage) -> str:
    """The messages, each under who said it; branches are counted, not followed."""
    entries = page.sections[0].entries
    return "\n".join(_write_entry(entry) for entry in entries)


def _write_entry(entry: PageMessage) -> str:
    if entry.role == BOUNDARY:
        return f"({entry.who})\n"
    facts = [entry.model or "", EDITED if entry.edited else "", entry.version]
    who = f"{entry.who} ({', '.join(filter(None, facts))})" if any(facts) else entry.who
    said = "\n".join(map(_write_part, entry.parts))
    cut = f"\n({INCOMPLETE})" if entry.incomplete else ""
    others = f"\n(also continued by {len(entry.branches)} other)" if entry.branches else ""
    return f"{who}:\n{said.strip(chr(10))}{cut}{others}\n"


def _write_part(part: Part) -> str:
    if part.kind == "erased":
        return f"({part.title}: {part.body})"
    return f"({part.title}) {part.body}" if part.title else part.body
