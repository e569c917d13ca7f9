"""A page as text: Markdown (front matter, a heading per message, calls and reasoning folded), or plain text as it was
said, which a program must escape before it writes to a terminal. Nothing reads either back."""

from __future__ import annotations

import html
import json
import re

from headish.renderings.harmless import disarm, disarm_line
from headish.renderings.pages import BOUNDARY, EDITED, INCOMPLETE, PageMessage, Part, ThreadPage
from headish.values.checks.controls import escape_json_controls
from headish.values.times import local_time


def render_markdown(page: ThreadPage) -> str:
    """Markdown with YAML front matter, whose values are JSON and hold no Markdown.

    The text of a message keeps its Markdown, except what could run or load something (``harmless``).
    """
    count = sum(entry.role != BOUNDARY for entry in page.sections[0].entries)
    # Programs that read front matter put the title into a page of their own, so it may hold no markup.
    facts = {"title": disarm_line(page.title), "turn": page.head, "messages": count}
    facts |= {"model": disarm_line(page.model)} if page.model else {}
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items())
    parts = [f"---\n{escape_json_controls(front)}\n---\n"]
    for index, section in enumerate(page.sections):
        if index:
            parts.append(f'<a id="{section.anchor}"></a>\n\n---\n\n# Branch: {disarm_line(section.title)}\n')
        parts += [_write_entry(entry) for entry in section.entries]
    return "\n".join(parts)


def _write_entry(entry: PageMessage) -> str:
    if entry.role == BOUNDARY:
        return f"---\n\n*{entry.who}*\n"
    about = f"*{local_time(entry.time)}*" + (f" · {disarm_line(entry.model)}" if entry.model else "")
    about += (f" · {EDITED}" if entry.edited else "") + (f" · {entry.version}" if entry.version else "")
    heading = f"## {disarm_line(entry.who)}\n\n{about}\n"
    body = "\n".join(_write_part(part) for part in entry.parts)
    cut = f"\n*{INCOMPLETE}*\n" if entry.incomplete else ""
    links = "".join(f"- [{disarm_line(branch.title)}](#{branch.anchor})\n" for branch in entry.branches)
    return f"{heading}\n{body}{cut}" + (f"\nAlso continued by:\n\n{links}" if links else "")


def _write_part(part: Part) -> str:
    if part.kind == "text":
        return disarm(part.body.strip("\n")) + "\n"
    if part.kind in ("erased", "document"):
        return f"*{disarm_line(f'{part.title}: {part.body}')}*\n"
    # Blank lines around the fence: inside an HTML element, Markdown is read only after one.
    fence = _fence(part.body)
    title = html.escape(" ".join(part.title.split()), quote=False)
    return f"<details><summary>{title}</summary>\n\n{fence}\n{part.body}\n{fence}\n\n</details>\n"


def _fence(body: str) -> str:
    """A fence of more backticks than the body has in a row."""
    longest = max(map(len, re.findall("`+", body)), default=0)
    return "`" * max(3, longest + 1)


def render_plain(page: ThreadPage) -> str:
    """The messages, each below its speaker's name; branches are counted, not followed."""
    entries = page.sections[0].entries
    return "\n".join(_write_plain_entry(entry) for entry in entries)


def _write_plain_entry(entry: PageMessage) -> str:
    if entry.role == BOUNDARY:
        return f"({entry.who})\n"
    facts = [entry.model or "", EDITED if entry.edited else "", entry.version]
    who = f"{entry.who} ({', '.join(filter(None, facts))})" if any(facts) else entry.who
    body = "\n".join(map(_write_plain_part, entry.parts))
    cut = f"\n({INCOMPLETE})" if entry.incomplete else ""
    others = f"\n(also continued by {len(entry.branches)} other)" if entry.branches else ""
    return f"{who}:\n{body.strip(chr(10))}{cut}{others}\n"


def _write_plain_part(part: Part) -> str:
    if part.kind in ("erased", "document"):
        return f"({part.title}: {part.body})"
    return f"({part.title}) {part.body}" if part.title else part.body
