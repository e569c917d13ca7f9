"""A page as Markdown: front matter, a heading a message, calls and reasoning folded. It is not made to be read back."""

from __future__ import annotations

import json

from headish.renderings.pages import Entry, Page, Part


def render_markdown(page: Page) -> str:
    """Markdown with YAML front matter, whose values are JSON strings. Messages stand as they were said."""
    facts = {"title": page.title, "turn": page.head, "messages": len(page.sections[0].entries)}
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items())
    parts = [f"---\n{front}\n---\n"]
    for index, section in enumerate(page.sections):
        if index:
            parts.append(f'<a id="{section.anchor}"></a>\n\n---\n\n# Branch: {_on_one_line(section.title)}\n')
        parts += [_write_entry(entry) for entry in section.entries]
    return "\n".join(parts)


def _write_entry(entry: Entry) -> str:
    heading = f"## {_on_one_line(entry.who)}\n\n*{entry.time:%Y-%m-%d %H:%M} UTC*\n"
    body = "\n".join(_write_part(part) for part in entry.parts)
    links = "".join(f"- [{_on_one_line(branch.title)}](#{branch.anchor})\n" for branch in entry.branches)
    return f"{heading}\n{body}" + (f"\nAlso continued by:\n\n{links}" if links else "")


def _write_part(part: Part) -> str:
    if part.kind == "text":
        return part.body.strip("\n") + "\n"
    fence = _fence(part.body)
    title = _on_one_line(part.title).replace("<", "&lt;")
    return f"<details><summary>{title}</summary>\n\n{fence}\n{part.body}\n{fence}\n\n</details>\n"


def _fence(body: str) -> str:
    """More backticks than stand anywhere in the body."""
    longest = run = 0
    for character in body:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)


def _on_one_line(text: str) -> str:
    """Text that cannot begin a block or close a link."""
    return " ".join(text.split()).replace("[", "(").replace("]", ")").replace("\n", " ")
