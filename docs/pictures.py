"""Draw the pictures of the docs: run commands at a terminal, and turn their output into SVG.

``python docs/pictures.py`` writes docs/pictures/. The conversations are those of ``headish demo``. The chat talks to a
server on loopback with prepared answers, and Chromium takes the picture of the page.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.browser import run_browser
from support.command import HEADISH, start
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text
from support.terminal import Terminal

PICTURES = Path(__file__).parent / "pictures"
COLUMNS, LINES = 100, 40
THEME = TerminalTheme(
    (250, 250, 250), (40, 44, 52),
    [(40, 44, 52), (180, 40, 40), (40, 120, 40), (150, 100, 0),
     (30, 80, 180), (140, 50, 140), (0, 110, 130), (90, 90, 90)],
    [(90, 90, 90), (200, 60, 60), (60, 140, 60), (170, 120, 20),
     (50, 100, 200), (160, 70, 160), (20, 130, 150), (40, 44, 52)],
)  # fmt: skip
"""Dark on light, so that a picture is readable on a light page and on a dark one."""
SHOTS = {"list": ("list",), "tree": ("tree", "merged"), "graph": ("log", "merged", "--graph")}
TALK = (
    ("Which peak is the highest?\r", "Everest, 8,849 m."),
    ("And in Africa?\r", "Mount Kenya, 5,199 m."),
    ("/edit And in Africa? Think of Tanzania.\r", "Kilimanjaro, 5,895 m."),
    ("/tree\r", None),
)
"""What the person types, and what the model answers; None for a command that asks nothing."""
PAGE_WINDOW = "900,820"
_PRINTED_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_FONTS = re.compile(r" *@font-face \{.*?\n    \}\n+", re.DOTALL)
"""The rules by which Rich has a browser fetch fonts; the pictures must not load anything."""
_ASKS_FOR_A_LINE = "\x1b[?2004h"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "tour.db")
        _run("demo", "--keep", target)
        _run("--db", target, "tag", "merged", "garden")
        _run("--db", target, "pin", "merged")
        for name, words in SHOTS.items():
            _write(f"{name}.svg", draw(target, words))
        _write("chat.svg", draw_chat(str(Path(folder) / "chat.db")))
        photograph(target, Path(folder) / "page.html")


def draw(target: str, words: tuple[str, ...]) -> str:
    """Draw what a command prints at a terminal as SVG, with a fixed time in place of those that differ between runs."""
    terminal = Terminal("--db", target, "--no-pager", *words, columns=COLUMNS, env={"COLUMNS": str(COLUMNS)})
    assert terminal.wait() == 0
    # Otherwise every run would change the pictures.
    printed = _PRINTED_TIME.sub("2026-01-01 12:00", terminal.raw.replace("\r\n", "\n"))
    return _as_svg(Text.from_ansi(f"$ headish {' '.join(words)}\n{printed}"))


def draw_chat(target: str) -> str:
    """Draw a conversation at a terminal as SVG. The line editor moves the cursor, so a screen is emulated and drawn."""
    with Loopback() as server:
        _run("--db", target, "ptr", "set", "milli", "anthropic/small", "--base-url", server.url, "--key-env", "NO_KEY")
        _run("--db", target, "ptr", "default", "milli")
        terminal = Terminal(
            # NO_CPR: nothing here answers prompt_toolkit's question where the cursor is, and it would print a warning.
            "--db", target, "chat", "peaks", columns=COLUMNS, lines=LINES,
            env={"PROMPT_TOOLKIT_NO_CPR": "1", "NO_KEY": "none", "TERM": "xterm-256color"},
        )  # fmt: skip
        for number, (typed, answer) in enumerate(TALK, 1):
            if answer is not None:
                server.answer(chunks=event_stream(anthropic_text(answer)))
            # As a person would: the answer must be drawn before the next line is typed.
            _wait_for_prompt(terminal, number)
            terminal.type(typed)
        _wait_for_prompt(terminal, len(TALK) + 1)
        terminal.type("\x04")
        assert terminal.wait() == 0
    screen = pyte.Screen(COLUMNS, LINES)
    pyte.Stream(screen).feed(terminal.raw)
    lines = [_line(screen.buffer[row]) for row in range(LINES)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return _as_svg(Text("\n").join([Text("$ headish chat peaks"), *lines]))


def photograph(target: str, page: Path) -> None:
    """Take a picture of the page of a conversation in a browser."""
    page.write_bytes(_run("--db", target, "export", "merged", "--to", "html", "--branches"))
    run_browser(page, f"--screenshot={PICTURES / 'page.png'}", f"--window-size={PAGE_WINDOW}", "--hide-scrollbars")
    sys.stdout.write("docs/pictures/page.png\n")


def _wait_for_prompt(terminal: Terminal, number: int) -> None:
    while terminal.raw.count(_ASKS_FOR_A_LINE) < number:
        assert terminal._read(60), terminal.shown


def _line(row: dict[int, Char]) -> Text:
    line = Text()
    for style, chars in groupby((row[column] for column in range(COLUMNS)), key=_style):
        line.append("".join(char.data for char in chars), style)
    line.rstrip()
    return line


def _style(char: Char) -> Style:
    colour = None if char.fg == "default" else f"#{char.fg}" if re.fullmatch("[0-9a-f]{6}", char.fg) else char.fg
    # pyte calls ANSI's yellow brown, a name that Rich does not have.
    return Style(color="yellow" if colour == "brown" else colour, bold=char.bold, italic=char.italics)


def _as_svg(text: Text) -> str:
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(text, no_wrap=True, overflow="ignore", crop=False)
    return _FONTS.sub("", console.export_svg(title="headish", theme=THEME, unique_id="headish"))


def _write(name: str, drawn: str) -> None:
    (PICTURES / name).write_text(drawn, encoding="utf-8")
    sys.stdout.write(f"docs/pictures/{name}\n")


def _run(*words: str) -> bytes:
    process = start(*words)
    assert process.returncode == 0, (HEADISH, words, process.stderr)
    return process.stdout


if __name__ == "__main__":
    main()
