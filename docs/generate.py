"""Write the pages of the reference that can be generated: the command, the library, the schema, the errors.

``python docs/generate.py`` writes them; a test compares them with what is in the repository.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner
from sqlalchemy import Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from headish import errors
from headish.database import schema
from headish.database.file import fulltext
from headish.database.revisions import REVISION
from headish.database.upgrade import spelled_for
from headish.history.erasing import places
from headish.providers.dialects.table import DIALECTS
from headish.providers.registry import PROVIDERS
from headish.values import limits
from headish_cli.main import main as command

# The generators are not a package, and the table of damage is among the tests.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "tests"))
from compared import write_compared
from dialect_pages import write_dialect, write_dialects, write_refusals
from http_pages import write_http_api, write_openapi
from import_pages import write_frameworks_and_services, write_imports
from library_pages import text_of, write_library
from provider_pages import NOTE, write_overview, write_provider

_ONE = {"type": "text", "text": "1"}
_FAILED = {"type": "text", "text": '{"ok": false}'}
REFERENCE = Path(__file__).parent / "reference"


def write_cli() -> str:
    """Return the page with the help of every command, as the command prints it, without what all commands share."""
    parts = ["# The command\n", NOTE, "```text\n", _help(["headish"], "--all"), "```\n\n", _EVERY_COMMAND]
    for name in command.list_commands(click.Context(command)):
        subcommand = command.get_command(click.Context(command), name)
        assert subcommand is not None
        parts += _command_help(subcommand, ["headish", name])
    return "".join(parts)


def _command_help(found: click.Command, path: list[str]) -> Iterator[str]:
    yield f"\n## {' '.join(path)}\n\n```text\n{_less_common(_help(path))}```\n"
    if isinstance(found, click.Group):
        for name in sorted(found.commands):
            yield from _command_help(found.commands[name], [*path, name])


_EVERY_COMMAND = """\
Every command also takes `-h` (`--help`), which prints its help. Where there is `--json`, it prints JSON: one object, or
one per line for a list.
"""


def _less_common(text: str) -> str:
    """The help of a command without the options that ``_EVERY_COMMAND`` describes.

    Its list of commands is left out, too: each follows on the page, with its own help.
    """
    text = re.sub(r"^  -h, --help +Show this message and exit\.\n", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^(  --json) +Print JSON: one object, or one per line for a list\.$", r"\1", text, flags=re.MULTILINE
    )
    text = re.sub(r"\nCommands:\n.*", "", text, flags=re.DOTALL)
    return re.sub(r"\nOptions:\n(?=\n|\Z)", "", text)


def _help(path: list[str], *further: str) -> str:
    """The help of a command as it is printed on a terminal of 100 columns."""
    return CliRunner().invoke(command, [*path[1:], "--help", *further], prog_name="headish", terminal_width=100).stdout


_CARRIED: dict[str, dict[str, Any]] = {
    "a speaker's name": {"role": "user", "name": "ada", "content": [{"type": "text", "text": "hi"}]},
    "role developer": {"role": "developer", "content": [{"type": "text", "text": "hi"}]},
    "a channel": {"role": "user", "channel": "final", "content": [{"type": "text", "text": "hi"}]},
    "a recipient of a text": {"role": "assistant", "to": "user", "content": [{"type": "text", "text": "hi"}]},
    "`<|end|>` in a text": {"role": "user", "content": [{"type": "text", "text": "<|end|>"}]},
    "`<|im_end|>` in a text": {"role": "user", "content": [{"type": "text", "text": "<|im_end|>"}]},
    "`<<USER_END>>` in a text": {"role": "user", "content": [{"type": "text", "text": "<<USER_END>>"}]},
    "a literal block": {"role": "user", "content": [{"type": "text", "text": "<|end|>", "literal": True}]},
    "reasoning": {"role": "assistant", "content": [{"type": "thinking", "text": "why"}]},
    "reasoning of a kind": {"role": "assistant", "content": [{"type": "thinking", "text": "why", "kind": "reason"}]},
    "a call": {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "raw": "{}"}]},
    "the id of a call": {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "raw": "{}", "id": "c"}]},
    "arguments that are not JSON": {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "raw": "{"}]},
    "a reply": {"role": "tool", "content": [{"type": "tool_result", "name": "f", "content": [_ONE]}]},
    "a failed reply, in so many words": {"role": "tool", "content": [
        {"type": "tool_result", "name": "f", "content": [_FAILED], "is_error": True}]},
    "a failed reply": {"role": "tool", "content": [
        {"type": "tool_result", "name": "f", "content": [_ONE], "is_error": True}]},
    "the status of a reply": {"role": "tool", "content": [
        {"type": "tool_result", "name": "f", "content": [_ONE], "status": "late"}]},
    "several blocks in a message": {"role": "assistant", "content": [
        {"type": "thinking", "text": "why", "kind": "reason"}, {"type": "text", "text": "so"}]},
    "an intent": {"role": "assistant", "channel": "commentary", "intent": "preamble", "content": [_ONE]},
    "a content type": {"role": "user", "content_type": "json", "content": [_ONE]},
    "a constraint": {"role": "assistant", "channel": "final", "constrain": "json", "content": [_ONE]},
    "further attributes of a text": {"role": "user", "extra": {"x": "1"}, "content": [_ONE]},
    "`<|return|>`": {"role": "assistant", "channel": "final", "stop": "return", "content": [_ONE]},
    "an unfinished end": {"role": "assistant", "stop": "none", "content": [_ONE]},
    "a mark (fill in the middle, flags)": {"role": "user", "content": [{"type": "mark", "token": "<|fim_prefix|>"}]},
    "a list of tools": {"role": "system", "content": [{"type": "tools", "raw": "{}"}]},
    "a document": {"role": "user", "content": [
        {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]},
}  # fmt: skip


def write_carrying() -> str:
    """Return the page that shows what each format carries, found by writing each feature and reading it again."""
    from headish.transcripts import FORMATS

    cells = {feature: [_carries(model, each) for each in FORMATS] for feature, model in _CARRIED.items()}
    rows = [f"| {_escaped(feature)} | {' | '.join(row)} |" for feature, row in cells.items()]
    titles = " | ".join(f"`{each}`" for each in FORMATS)
    head = f"| | {titles} |\n|---|{'---|' * len(FORMATS)}\n"
    note = "*yes*: it comes back as it was; a word: `drop` of that word gives it up; –: it is refused.\n\n"
    header = "A YAML header: `2.0`, `2.2`. The base model's tokens: `v0.1`. An open header at the end: all.\n"
    return "# What each format carries\n\n" + NOTE + note + head + "\n".join(rows) + "\n\n" + header


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _carries(message: dict[str, Any], format: str) -> str:
    """A cell: whether a message, in the form of this format's own messages, survives being written and read again."""
    from headish.errors import Unrepresentable
    from headish.transcripts import emit, from_json, parse, to_json
    from headish.transcripts.openchatml.forms import FORMS

    blocks = message["content"]
    framed = dict(message)
    if format in FORMS:
        if blocks[0]["type"] == "thinking" and len(blocks) == 1:
            framed["channel"] = "analysis"
        framed["content"] = [{**block, **({"name": "functions.f"} if "name" in block else {})} for block in blocks]
    elif message["role"] == "assistant":
        framed.pop("channel", None)  # only some formats have channels, which have a row of their own
    try:
        transcript = from_json({"messages": [framed]})
        text = emit(transcript, format)
    except Unrepresentable as error:
        return f"`{error.drop}`" if error.drop else "–"
    back = to_json(parse(text, format, partial=True, strict=False))
    return "yes" if back["messages"] == to_json(transcript)["messages"] else "–"


_SAME = """\
Each statement is SQLite's. PostgreSQL's is the same with `BIGSERIAL` for the `INTEGER` of `id`, `BIGINT` for any other,
`BYTEA` for `BLOB` and `VARCHAR(25) COLLATE "C"` for `VARCHAR(25)`, without `WITHOUT ROWID` and quotation marks.
"""


def write_schema() -> str:
    """Return the page of the tables: what each is for, and the statements that make it."""
    docstrings = _attribute_docstrings(schema)
    parts = ["# The tables\n", NOTE, f"Revision `{REVISION}`. {text_of(schema)}\n\n{_SAME}"]
    for table in schema.metadata.sorted_tables:
        parts += [f"\n## {table.name}\n\n{docstrings.get(table.name, '')}\n\n{_sql(_statements(table))}"]
    parts += [f"\n## search_text\n\n{text_of(fulltext)}\n"]
    for title, statements in (("SQLite", fulltext.CREATE["sqlite"]), ("PostgreSQL", fulltext.CREATE["postgresql"])):
        parts += [f"\n{title}:\n\n{_sql(statements)}"]
    return "".join(parts)


def _sql(statements: Sequence[str]) -> str:
    return "```sql\n" + ";\n".join(statements) + ";\n```\n"


def _statements(table: Table) -> list[str]:
    """The statements that make a table and its indexes on SQLite. Indexes are sorted: SQLAlchemy has a set."""
    made: list[CreateTable | CreateIndex] = [CreateTable(table)]
    made += map(CreateIndex, sorted(table.indexes, key=lambda each: str(each.name)))
    texts = [_compiled(each, sqlite.dialect()) for each in made]
    # A new PostgreSQL database is made from SQLite's text (ADR 0095): it must come out as SQLAlchemy writes it.
    if [spelled_for("postgresql", each) for each in texts] != [_compiled(each, postgresql.dialect()) for each in made]:
        raise SystemExit(f"headish.database.upgrade does not spell the table {table.name} as PostgreSQL has it")
    return texts


def _compiled(made: CreateTable | CreateIndex, dialect: Dialect) -> str:
    text = str(made.compile(dialect=dialect)).strip().replace("\t", "    ")
    return "\n".join(line.rstrip() for line in text.splitlines())


def write_ddl() -> str:
    """Return the module that makes a new database: the same statements, as text that needs no SQLAlchemy (ADR 0095)."""
    docstring = "The statements that make the tables of a new database. Written by `make docs` from schema.py."
    parts = [f'"""{docstring}"""\n\nTABLES = (\n']
    for table in schema.metadata.sorted_tables:
        parts += [f"    {_literal(statement)},\n" for statement in _statements(table)]
    parts += [')\n"""As SQLite has them, in an order in which each table comes after those that it refers to."""\n']
    return "".join(parts)


def _literal(statement: str) -> str:
    if "\n" in statement:
        return f'"""\n{statement}\n"""'
    return repr(statement) if '"' in statement else f'"{statement}"'


def write_erasing() -> str:
    """Return the page that lists what an erasure does to each column that takes bytes or text."""
    parts = [
        "# What an erasure reaches\n",
        NOTE,
        "Every column that takes bytes or text, and what `headish erase` does to it.",
    ]
    parts += [" All of them go with their space (`spaces rm --erase`).\n\n| | columns |\n|---|---|\n"]
    columns: dict[str, list[str]] = {}
    for column, fate in places.COLUMNS.items():
        columns.setdefault(fate, []).append(f"`{column}`")
    return "".join([*parts, *(f"| {fate} | {', '.join(listed)} |\n" for fate, listed in sorted(columns.items()))])


def write_errors() -> str:
    """Return the page with every error, indented below the one that it is a kind of, its docstring, and the limits."""
    text = text_of(errors)
    said = re.sub(r"^(    .*\n)+\n", "", text, count=1, flags=re.M)
    parts = ["# Errors and limits\n", NOTE, said, "\n\n| error, and below it its kinds | |\n|---|---|\n"]
    for branches, name in re.findall(r"^    ([│├└─ ]*)(\w+)", text, re.M):
        error = getattr(errors, name)
        indent = "&emsp;" * (len(branches) // 4)
        parts.append(f"| {indent}`{name}` | {' '.join(text_of(error).split())}{_also(error)} |\n")
    parts += ["\n## Limits\n\n", text_of(limits), "\n\n| limit | value | |\n|---|---|---|\n"]
    for name, doc in _attribute_docstrings(limits).items():
        said = " ".join(doc.split(chr(10) * 2)[0].split())
        parts.append(f"| `{name}` | {getattr(limits, name):,} | {said} |\n")
    return "".join(parts)


def _also(error: type[Exception]) -> str:
    """Name the built-in error that an error is a subclass of, if any."""
    own = next((each for each in (KeyError, RuntimeError, ValueError) if issubclass(error, each)), None)
    return "" if own is None else f" Also a `{own.__name__}`."


def _attribute_docstrings(module: Any) -> dict[str, str]:
    """The strings that follow a module's assignments, by name."""
    body = ast.parse(inspect.getsource(module)).body
    docstrings = {}
    for assignment, following in pairwise(body):
        if isinstance(assignment, ast.Assign) and isinstance(following, ast.Expr):
            target = assignment.targets[0]
            if isinstance(target, ast.Name) and isinstance(following.value, ast.Constant):
                docstrings[target.id] = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(str(following.value.value)))
    return docstrings


def write_damage() -> str:
    """Return the page on what detects damage done behind the library's back, from the table that the tests check."""
    from support.damage.verdicts import COLUMNS, REFUSED, ROWS, Listed, Verdict, Verdicts

    notes: dict[str, int] = {}

    def cell(verdict: Verdict) -> str:
        if verdict == REFUSED:
            return "refused"
        if isinstance(verdict, Listed):
            return f"– ({notes.setdefault(verdict.reason, len(notes) + 1)})"
        return verdict.by

    seen: list[str] = []
    others: dict[str, list[str]] = {}
    for table, columns in COLUMNS.items():
        cells = {column: [*map(cell, verdicts)] for column, verdicts in columns.items()}
        whole = [f"`{column}`" for column, each in cells.items() if {*each} == {"verify"}]
        seen += [f"- `{table}`: {', '.join(whole)}"] if whole else []
        for column, each in cells.items():
            if {*each} != {"verify"}:
                others.setdefault(" | ".join(each), []).append(f"`{table}.{column}`")
    rows = [f"| {', '.join(listed)} | {each} |" for each, listed in others.items()]
    told = "\n`verify` sees each of these in the columns\n\n" + "\n".join(seen) + "\n\nand in the others:\n\n"
    head = f"| | {' | '.join(_DAMAGES[kind] for kind in Verdicts._fields)} |\n|---|{'---|' * len(Verdicts._fields)}\n"
    deleted = "\n".join(f"| `{table}` | {cell(verdict)} |" for table, verdict in ROWS.items())
    reasons = "\n".join(f"{number}. {reason[0].upper()}{reason[1:]}." for reason, number in notes.items())
    return (
        f"# What verify catches\n\n{NOTE}{_DAMAGE_INTRODUCTION}\n## A value\n{told}{head}" + "\n".join(rows) + "\n\n"
        f"## A deleted row\n\n| | |\n|---|---|\n{deleted}\n\n## What nothing sees, and why\n\n{reasons}\n"
    )


_DAMAGES = {"flip": "another value", "null": "NULL", "type": "another type", "swap": "swapped with another row"}
_DAMAGE_INTRODUCTION = """\
Damage that somebody or something does to the database behind the library's back, column by column, and what sees it.
The tests do every one of these to a small database in all of its rows; a cell says what sees the row that is hardest.

- *verify*: `headish verify --all` names it. Without `--all` it sees the same,
  except for rows that lie in no space.
- *reading*: whoever reads it gets an error.
- *refused*: the database itself keeps no such value.
- – (n): some such damage is not seen; the reason is below.

`headish verify --all` also runs the database's own check, which compares each index with its table.
Types and NULLs are for SQLite: PostgreSQL itself refuses them.
"""


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": write_cli,
    "library.md": write_library,
    "schema.md": write_schema,
    "../../store/headish/database/ddl.py": write_ddl,
    "erasing.md": write_erasing,
    "errors.md": write_errors,
    "damage.md": write_damage,
    "http-api.md": write_http_api,
    "openapi.json": write_openapi,
    "formats/carrying.md": write_carrying,
    "imports.md": partial(write_imports, NOTE),
    "providers/README.md": write_overview,
    "providers/refused.md": write_refusals,
    "providers/dialects/README.md": write_dialects,
    "../explanation/compared.md": write_compared,
}


PAGES |= {"imports/frameworks-and-services.md": write_frameworks_and_services}
PAGES |= {f"providers/{provider}.md": partial(write_provider, provider) for provider in PROVIDERS}
PAGES |= {f"providers/dialects/{name}.md": partial(write_dialect, name) for name in DIALECTS}


def main() -> None:
    for name, write in PAGES.items():
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(write(), encoding="utf-8")
        sys.stdout.write(f"docs/reference/{name}\n")


if __name__ == "__main__":
    main()
