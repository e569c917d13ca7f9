"""A page as plain text for a terminal: nothing in it can move the cursor."""

from __future__ import annotations

from headish.renderings.pages import Entry, Page


def render_plain(page: Page) -> str:
    """The messages, each under who said it; branches are told, not followed."""
    entries = page.sections[0].entries
    return "\n".join(_write_entry(entry) for entry in entries)


def _write_entry(entry: Entry) -> str:
    said = "\n".join(f"({part.title}) {part.body}" if part.title else part.body for part in entry.parts)
    others = f"\n(also continued by {len(entry.branches)} other)" if entry.branches else ""
    return f"{_safe(entry.who)}:\n{_safe(said.strip(chr(10)))}{others}\n"


def _safe(text: str) -> str:
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)
