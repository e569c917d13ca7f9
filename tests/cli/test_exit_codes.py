"""One rule for exit codes: 2 where a line cannot be right, 1 where headish refuses or finds something.

Every command is walked, so a new one is held to the rule from its first day; ``docs/reference/exit-codes.md`` says it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from headish_cli.main import main
from support.command import Command

FILLING = {"headish": "main", "heads": "main", "first": "main", "last": "main", "name": "main", "old": "main"}
"""What stands for an argument that is not looked at; of any other name a word."""
NEEDED = {
    "erase": ("--reason", "r"), "reply": ("--from", "openai"), "convert": ("--to", "2.2"), "export": ("--to", "chat"),
    "spaces move": ("--to", "other"),
}  # fmt: skip
WAITING = {"chat", "demo", "follow", "serve", "gateway"}
"""What talks, waits or serves until it is stopped."""
MALFORMED = ("is not a headish", "cannot be the name", "unknown provider", "unknown format", "unknown role")


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from leaves(found, (*words, name))
    else:
        yield words, command


COMMANDS = list(leaves(main))


def line(words: tuple[str, ...], command: click.Command, given: click.Parameter, value: str) -> list[str]:
    """A line with this value for one parameter, and what fills the others that it needs."""
    said = [*words, *NEEDED.get(" ".join(words), ())]
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    said += [
        value if each is given else FILLING.get(str(each.name), "word")
        for each in arguments
        if each is given or each.required
    ]
    return said if isinstance(given, click.Argument) else [*said, max(given.opts, key=len), value]


def names_a_turn(parameter: click.Parameter) -> bool:
    return "HEADISH" in str(getattr(parameter, "metavar", None) or parameter.name).upper()


@pytest.fixture
def filled(headish: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("HEADISH_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)
    headish("add", "Hello", "-b", "main")
    return headish


@pytest.mark.slow
def test_what_the_options_of_a_command_tell_is_2(filled: Command) -> None:
    wrong: list[str] = []
    for words, command in COMMANDS:
        lines = [[*words, "--no-such-option"]]
        for each in command.params:
            form = each.type
            if isinstance(form, click.Choice | click.types.IntParamType | click.types.FloatParamType):
                lines.append(line(words, command, each, "no-such-value"))
            if each.name in ("since", "until", "said_at", "expect") or each.metavar == "CURSOR":
                lines.append(line(words, command, each, "no-such-value"))
        for said in lines:
            done = filled.run(*said, stdin="")
            wrong += [f"{' '.join(said)}: {done}"] if done.code != 2 else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_a_malformed_headish_name_or_format_is_2_and_nothing_else_of_headish(filled: Command) -> None:
    """Where another mistake is told first, its code counts."""
    wrong: list[str] = []
    told = 0
    for words, command in COMMANDS:
        for each in command.params if words[0] not in WAITING else ():
            is_format = each.name in ("to", "format", "from_format") and isinstance(each, click.Option)
            if not (names_a_turn(each) or is_format or each.name in ("name", "bookmark", "new", "ptr", "role")):
                continue
            said = line(words, command, each, "a b~c:d")
            done = filled.run(*said, stdin="word")
            if not done.err.startswith("headish: "):
                continue
            is_malformed = any(each in done.err for each in MALFORMED)
            told += is_malformed
            wrong += [f"{' '.join(said)}: {done}"] if (done.code == 2) != is_malformed else []
    assert not wrong, "\n".join(wrong)
    assert told > 30


@pytest.mark.parametrize("words", [
    ("show", "nobody"), ("log", "nobody"), ("resolve", "nobody"), ("children", "nobody"), ("tree", "nobody"),
    ("export", "nobody", "--to", "chat"), ("title", "nobody"), ("pin", "nobody"), ("find", "nokey"),
    ("add", "x", "-c", "nobody"), ("bookmark", "rm", "nobody"), ("ptr", "show", "nobody"), ("import", "nofile"),
    ("restore", "nofile", "new.db"), ("record", "nofile"), ("doc", "nofile"),
    ("convert", "nofile", "--to", "2.2"), ("--space", "nobody", "log"), ("verify", "--space", "nobody"),
    ("spaces", "rm", "nobody"),
    ("edit", "nobody", "x"), ("erase", "nobody", "--reason", "r"), ("undo", "nobody"), ("diff", "main", "nobody"),
])  # fmt: skip
def test_what_is_not_there_is_1(filled: Command, words: tuple[str, ...]) -> None:
    done = filled.run(*words, stdin="")
    assert (done.code, done.err.startswith("headish: ")) == (1, True), done


def test_the_page_says_the_codes_that_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/exit-codes.md").read_text("utf-8")
    codes = {row.split("|")[2].strip() for row in page.splitlines() if row.startswith("| ")} - {"code"}
    assert codes == {"0", "1", "2", "130", "141"}
    assert set(codes) <= set("".join(each if each.isdigit() else " " for each in str(main.help)).split())
