"""Write the man pages from what ``--help`` prints: one page per command, in ``docs/man``.

The wheel carries them as data, so ``pip install`` puts them where ``man`` looks. They are kept in the repository,
because a wheel is built without headish's dependencies, so the build cannot import the command.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from headish.version import __version__
from headish_cli.groups import SECTIONS
from headish_cli.main import main as command
from headish_cli.topics import TOPICS

MAN = Path(__file__).parent / "man"
HEADINGS = {
    "headish": "NAMING A TURN", "times": "TIMES", "environment": "ENVIRONMENT", "exit-codes": "EXIT STATUS",
}  # fmt: skip


def write_man_pages() -> dict[str, str]:
    """Return the pages by file name."""
    root = click.Context(command, info_name="headish", **command.context_settings)
    pages = {"headish.1": _page(root, _commands(root), _topics())}
    for name in command.list_commands(root):
        subcommand = command.get_command(root, name)
        assert subcommand is not None
        context = click.Context(subcommand, info_name=name, parent=root)
        pages[f"headish-{name}.1"] = _page(context, _subcommands(context), [".SH SEE ALSO", ".BR headish (1)"])
    return pages


def _page(context: click.Context, commands: Iterator[str], end: list[str]) -> str:
    name = context.command_path.replace(" ", "-")
    lines = [
        ".\\\" Written by docs/man_pages.py; change the command's help and run `make docs`.",
        f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "headish {__version__}" "headish manual"',
        ".nh", ".ad l",
        ".SH NAME", f"{name} \\- {_text(_sentence(context.command)).removesuffix('.')}",
        ".SH SYNOPSIS", *_usage(context),
        ".SH DESCRIPTION", *_paragraphs(context.command.help or ""),
        *_options(context, ".SH OPTIONS"), *commands, *_paragraphs(context.command.epilog or ""), *end,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _commands(root: click.Context) -> Iterator[str]:
    for section, names in SECTIONS.items():
        yield f".SH {section.upper()}"
        for name in names:
            subcommand = command.get_command(root, name)
            assert subcommand is not None
            yield from (".TP", f".BR headish\\-{_text(name)} (1)", _text(_sentence(subcommand)))


def _subcommands(context: click.Context) -> Iterator[str]:
    """The commands of a group, in full on its page: nobody looks for a page for each."""
    group = context.command
    for name in group.list_commands(context) if isinstance(group, click.Group) else ():
        found = group.get_command(context, name)
        assert found is not None
        below = click.Context(found, info_name=name, parent=context)
        yield f".SH {_text(name.upper())}"
        yield from _usage(below)
        yield from (".PP", *_paragraphs(found.help or ""), *_options(below, ".PP"), *_paragraphs(found.epilog or ""))
        yield from _subcommands(below)


def _topics() -> Iterator[str]:
    for name, text in TOPICS.items():
        yield from (f".SH {HEADINGS[name]}", ".nf", *map(_text, text.splitlines()), ".fi")


def _usage(context: click.Context) -> list[str]:
    return [f".B {_text(context.command_path)}", _text(" ".join(context.command.collect_usage_pieces(context)))]


def _options(context: click.Context, heading: str) -> Iterator[str]:
    records = [each.get_help_record(context) for each in context.command.get_params(context)]
    for number, record in enumerate(each for each in records if each is not None):
        if not number:
            yield heading
        yield from (".TP", f"\\fB{_text(record[0])}\\fR", _text(" ".join(record[1].split())))


def _sentence(found: click.Command) -> str:
    return found.get_short_help_str(sys.maxsize)


def _paragraphs(text: str) -> Iterator[str]:
    r"""Convert paragraphs. They are filled, except those that begin with ``\b``, which click also keeps as written."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(text).strip())):
        if number:
            yield ".PP"
        lines = paragraph.splitlines()
        if lines[:1] == ["\b"]:
            yield from (".nf", *map(_text, lines[1:]), ".fi")
        elif paragraph:
            yield _text(" ".join(paragraph.split()))


def _text(words: str) -> str:
    """Escape text for roff, so that no line is taken for a request and no hyphen becomes another character."""
    # groff prints - ^ ~ ' and ` as typographic characters, which nobody can copy into a shell (groff_char(7)).
    escaped = words.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    escaped = escaped.replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^(?=[.])", r"\\&", escaped)


def main() -> None:
    MAN.mkdir(exist_ok=True)
    pages = write_man_pages()
    # The page of a command that was removed would be installed for good.
    for file in {each.name for each in MAN.iterdir()} - pages.keys():
        (MAN / file).unlink()
    for name, text in pages.items():
        (MAN / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"docs/man: {len(pages)} pages\n")


if __name__ == "__main__":
    main()
