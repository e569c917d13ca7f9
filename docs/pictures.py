"""Draws the pictures of the docs: commands are run at a terminal of their own, and what they print becomes an SVG.

``python docs/pictures.py`` writes docs/pictures/. The conversations are those of ``headish demo``.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.command import HEADISH, start
from support.terminal import Terminal

PICTURES = Path(__file__).parent / "pictures"
CONVERSATIONS = Path(__file__).parents[1] / "cli/headish_cli/conversations.jsonl"
COLUMNS = 100
THEME = TerminalTheme(
    (250, 250, 250), (40, 44, 52),
    [(40, 44, 52), (180, 40, 40), (40, 120, 40), (150, 100, 0),
     (30, 80, 180), (140, 50, 140), (0, 110, 130), (90, 90, 90)],
    [(90, 90, 90), (200, 60, 60), (60, 140, 60), (170, 120, 20),
     (50, 100, 200), (160, 70, 160), (20, 130, 150), (40, 44, 52)],
)  # fmt: skip
"""Dark on light, so that a picture is readable on a light page and on a dark one."""
SHOTS = {"list": ("list",), "tree": ("tree", "merged"), "graph": ("log", "merged", "--graph")}
_PRINTED_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "tour.db")
        _run("demo", "--keep", target)
        _run("--db", target, "tag", "merged", "garden")
        _run("--db", target, "pin", "merged")
        for name, words in SHOTS.items():
            (PICTURES / f"{name}.svg").write_text(draw(target, words), encoding="utf-8")
            sys.stdout.write(f"docs/pictures/{name}.svg\n")


def draw(target: str, words: tuple[str, ...]) -> str:
    """What a command prints at a terminal, as SVG. Ids and times that differ from run to run are made alike."""
    terminal = Terminal("--db", target, "--no-pager", *words, columns=COLUMNS, env={"COLUMNS": str(COLUMNS)})
    assert terminal.wait() == 0
    printed = _PRINTED_TIME.sub("2026-01-01 12:00", terminal.raw.replace("\r\n", "\n"))
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(
        Text.from_ansi(f"$ headish {' '.join(words)}\n{printed}"), no_wrap=True, overflow="ignore", crop=False
    )
    return console.export_svg(title="headish", theme=THEME, unique_id="headish")


def _run(*words: str) -> None:
    done = start(*words)
    assert done.returncode == 0, (HEADISH, words, done.stderr)


if __name__ == "__main__":
    main()
