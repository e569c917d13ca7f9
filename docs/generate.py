"""Writes the pages of the reference that the code itself can tell: the command, the library, the schema, the errors.

``python docs/generate.py`` writes them; a test compares them with what is in the repository.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import msgspec
from click.testing import CliRunner
from sqlalchemy import Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

import headish
from headish import errors
from headish.database import schema
from headish.database.file import fulltext
from headish.database.revisions import REVISION
from headish.history.budgets.counting import Tokens, TurnTokens
from headish.history.edits.differences import Change, Diff, Stat
from headish.history.edits.edit import Edited
from headish.history.edits.words import Piece
from headish.history.erasing import places
from headish.history.reading.costs import Cost
from headish.history.reading.usage import Count
from headish.history.reading.versions import Siblings
from headish.history.writing.copies import Copied
from headish.providers.dialects.table import DIALECTS
from headish.providers.registry import PROVIDERS
from headish.providers.shared.values import Delta, Finding, Note, Origin, Reply, Request, Settings, Usage
from headish.store.asking.batches import Batches
from headish.store.asking.pointers import Pointers
from headish.store.asking.streams import Streams
from headish.store.asking.tools import Tools
from headish.store.keeping.access_tokens import AccessTokens
from headish.store.keeping.bookmarks import Bookmarks
from headish.store.keeping.bundles import Bundles
from headish.store.keeping.calls import Calls
from headish.store.keeping.conversations import Conversations
from headish.store.keeping.erase import Erasures
from headish.store.keeping.objects import Objects
from headish.store.keeping.remotes import Remotes
from headish.store.keeping.spaces import Spaces
from headish.values import limits
from headish.values.access.tokens import Token
from headish.values.blocks import KINDS, Erased
from headish.values.messages import Attributes, Overlay, ThreadRecord
from headish.values.results.batches import Batch, BatchEntry, BatchStatus, CollectedBatch
from headish.values.results.calls import CallFacts, PassedCall, PrefixBreak
from headish.values.results.changes import (
    DefinitionChange,
    ErasureChange,
    Live,
    MoveChange,
    Pulse,
    RecordChange,
    TurnChange,
)
from headish.values.results.conversations import Conversation, Entry, Page, Record
from headish.values.results.erasures import Barred, Collected, ErasedTurn, Erasure, Found, Kept, Receipt, Repeat
from headish.values.results.exports import Backup, Exported, Folder, Restored
from headish.values.results.objects import Object
from headish.values.results.plain import PlainResult
from headish.values.results.reports import Audited, Authored, JudgedSignature, Problem, Report, Signed, Stats
from headish.values.results.searches import Hit
from headish.values.results.sharing import (
    Applied,
    ArrivedName,
    BundleChecked,
    Bundled,
    BundleRewritten,
    Cloned,
    NameElsewhere,
    Pulled,
    Pushed,
    RemoteDevice,
    RemotePlace,
    RemoteStatus,
    Synced,
    SyncRun,
)
from headish.values.results.threads import Stretch
from headish.values.turns import Bookmark, Meta, Move, Recorded, TreeTurn
from headish_cli.main import main as command

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "tests"))
from compared import write_compared
from dialect_pages import write_dialect, write_dialects, write_refusals
from http_pages import write_http_api, write_openapi
from import_pages import write_frameworks_and_services, write_imports
from provider_pages import write_overview, write_provider

VALUES = (
    headish.Turn, Meta, headish.Message, Attributes, headish.ContextWindow, ThreadRecord, TreeTurn, Bookmark,
    Move, Recorded, Conversation, Record, Entry, Page, Object, Count, Cost, Copied, Stats, Report, Problem, Edited,
    Siblings, Diff, Change, Piece, Stat, Overlay, Tokens, TurnTokens, TurnChange, MoveChange, RecordChange,
    DefinitionChange, ErasureChange, Live, Pulse, Audited, Authored, Erasure, Found, Kept, Repeat, Receipt, ErasedTurn,
    Barred, Collected, Hit, Batch, BatchEntry, BatchStatus, CollectedBatch, Backup, Restored, *KINDS.values(), Erased,
    Exported, Folder, Stretch, RemotePlace, RemoteDevice, RemoteStatus, SyncRun, Pushed, Pulled, Synced, Cloned,
    NameElsewhere, ArrivedName, Bundled, BundleChecked, BundleRewritten, Applied, PassedCall, CallFacts, PrefixBreak,
    Signed, JudgedSignature, Token,
)  # fmt: skip
"""The types of what the library gives, in the order of the reference."""
_PROVIDER_VALUES = (Request, Origin, Note, Finding, Delta, Reply, Usage)
_ONE = {"type": "text", "text": "1"}
_FAILED = {"type": "text", "text": '{"ok": false}'}
REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py; change the code and run `make docs`. -->\n\n"


def write_cli() -> str:
    """Every command's help, as the command prints it, without what all commands have in common."""
    parts = ["# The command\n", NOTE, "```text\n", _help(["headish"], "--all"), "```\n\n", _EVERY_COMMAND]
    for name in command.list_commands(click.Context(command)):
        found = command.get_command(click.Context(command), name)
        assert found is not None
        parts += _command_help(found, ["headish", name])
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
    """The help of a command without the options that ``_EVERY_COMMAND`` tells of.

    Its list of commands is left out, too: each follows on the page, with its own help.
    """
    text = re.sub(r"^  -h, --help +Show this message and exit\.\n", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^(  --json) +Print JSON: one object, or one per line for a list\.$", r"\1", text, flags=re.MULTILINE
    )
    text = re.sub(r"\nCommands:\n.*", "", text, flags=re.DOTALL)
    return re.sub(r"\nOptions:\n(?=\n|\Z)", "", text)


def _help(path: list[str], *further: str) -> str:
    """As it is printed on a terminal of 100 columns."""
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
    "arguments that are no JSON": {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "raw": "{"}]},
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
    """What each format carries, found out by writing it and reading it again."""
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
    """A cell: the message as this format's own messages are, written and read again."""
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
        framed.pop("channel", None)  # what only frames have is a row of its own
    try:
        transcript = from_json({"messages": [framed]})
        written = emit(transcript, format)
    except Unrepresentable as error:
        return f"`{error.drop}`" if error.drop else "–"
    back = to_json(parse(written, format, partial=True, strict=False))
    return "yes" if back["messages"] == to_json(transcript)["messages"] else "–"


def _own_functions(module: ModuleType) -> Iterator[str]:
    """The public classes and functions that a module defines, or lists as its own."""
    listed = getattr(module, "__all__", ())
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__ or name in listed
        if name.startswith("_") or not is_own:
            continue
        if inspect.isfunction(value):
            yield _function(name, value).replace("### ", "#### ", 1)
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            yield f"\n#### {name}\n\n{_text(value)}\n"


def write_library() -> str:
    """Databases, stores and their parts, and the functions beside them."""
    parts = ["# The library\n", NOTE, "`from headish import Database, Store, emit, Turn, Message, ContextWindow`\n"]
    parts += ["\n## Store\n\n", _text(headish.Store), "\n", *_members(headish.Store)]
    for part in (
        Bookmarks,
        Conversations,
        Pointers,
        Tools,
        Objects,
        Batches,
        Streams,
        Erasures,
        Remotes,
        Bundles,
        Calls,
    ):
        parts += [f"\n## store.{part.__name__.lower()}\n\n", _text(part), "\n"]
        parts += _members(part, f"store.{part.__name__.lower()}")
    for kind in (headish.ReadTransaction, headish.WriteTransaction):
        parts += [f"\n## {kind.__name__}\n\n", _text(kind), "\n", *_members(kind)]
    parts += ["\n## Database\n\n", _text(headish.Database), "\n", *_members(headish.Database)]
    parts += ["\n## database.spaces\n\n", _text(Spaces), "\n", *_members(Spaces, "database.spaces")]
    parts += ["\n## database.access_tokens\n\n", _text(AccessTokens), "\n"]
    parts += _members(AccessTokens, "database.access_tokens")
    parts += ["\n## Emitting\n", _function("emit", headish.emit)]
    parts += ["\n## Restoring\n", _function("restore", headish.restore)]
    parts += ["\n## Bundles without a store\n"]
    parts += [_function(name, getattr(headish, name)) for name in ("verify_bundle", "rewrite_bundle")]
    from headish import providers, tools, transcripts
    from headish.providers.pointers import NamedPointer, Pointer
    from headish.store.answers.capture import Capture

    parts += ["\n## Providers\n\n", _text(providers), "\n"]
    parts += [
        _function(f"headish.providers.{name}", getattr(providers, name))
        for name in ("prepare_request", "lint", "parse_response")
    ]
    parts += ["\n### headish.providers.Stream\n\n", _text(providers.Stream), "\n"]
    parts += [_function(f"Stream.{name}", getattr(providers.Stream, name)) for name in ("feed", "fail", "finish")]
    parts += ["\n### Capture\n\n", _text(Capture), "\n"]
    parts += [_function(f"Capture.{name}", getattr(Capture, name)) for name in ("read", "feed", "fail", "finish")]
    for value in (Settings, *_PROVIDER_VALUES, Pointer, NamedPointer):
        parts.append(f"\n### {value.__name__}\n\n{_text(value)}\n\n{_fields(value)}\n")
    from headish import adapters
    from headish.adapters import healing, hiding, holding, messages, naming, plugins, sessions

    parts += ["\n## What adapters are made with\n\n", _text(adapters), "\n"]
    for module in (holding, naming, sessions, messages, healing, hiding, plugins):
        parts += [f"\n### {module.__name__}\n\n", _text(module), "\n", *_own_functions(module)]
    parts += ["\n## Transcripts\n\n", _text(transcripts), "\n"]
    functions = [name for name in transcripts.__all__ if inspect.isfunction(getattr(transcripts, name))]
    parts += [_function(f"headish.transcripts.{name}", getattr(transcripts, name)) for name in functions]
    parts += [f"\n### Transcript\n\n{_text(transcripts.Transcript)}\n\n{_fields(transcripts.Transcript)}\n"]
    parts += ["\n## Tools\n\n", _text(tools), "\n\n### Router\n\n", _text(tools.Router), "\n"]
    parts += [
        _function(f"Router.{name}", getattr(tools.Router, name)) for name in ("add", "run", "arun", "check", "cancel")
    ]
    parts += [_function("headish.tools.open_calls", tools.open_calls)]
    parts += _asyncio()
    parts += ["\n## Values\n\n`to_dict()`, unless a value shows its own: ", _text(PlainResult.to_dict), "\n"]
    for value in VALUES:
        parts.append(f"\n### {value.__name__}\n\n{_text(value)}\n\n{_fields(value)}\n")
        if hasattr(value, "to_dict") and value.to_dict is not PlainResult.to_dict:
            parts.append(f"\n`to_dict()`: {_text(value.to_dict).removeprefix('As plain data: ')}\n")
    return "".join(parts)


def _asyncio() -> Iterator[str]:
    """What ``headish.aio`` has beside the verbs, which are those above."""
    from headish import aio, calls

    yield f"\n## headish.aio\n\n{_text(aio)}\n"
    yield "\nThe verbs and parts are those of `Store` and `Database`, awaited. "
    yield "`async for` goes over `turns`, `follow` and `audit`.\n"
    for kind in (aio.AsyncStore, aio.AsyncDatabase, aio.AsyncStream, aio.AsyncAnswer, aio.AsyncCapture):
        yield f"\n### {kind.__name__}\n\n{_text(kind)}\n"
    yield _function("headish.aio.finish", aio.finish)
    yield _function("headish.aio.outcome_of", aio.outcome_of)
    yield f"\n### headish.calls.Timeouts\n\n{_text(calls.Timeouts)}\n\n{_fields(calls.Timeouts)}\n"
    yield f"\n### headish.calls.Stop\n\n{_text(calls.Stop)}\n"


def _members(owner: type, name: str | None = None) -> Iterator[str]:
    """The public methods of a class in the order in which it lists them, those that open first."""
    listed = [key for key in list(vars(owner)) if not key.startswith("_") and _is_method(owner, key)]
    for key in sorted(listed, key=lambda key: key != "open"):
        yield _function(f"{name or owner.__name__}.{key}", getattr(owner, key))
    if "__getitem__" in vars(owner):
        yield f"\n### `{name}[name]`\n\n{_text(vars(owner)['__getitem__'])}\n"


def _is_method(owner: type, key: str) -> bool:
    # Looked up first: a method may stand for one of a module that is not imported yet.
    return inspect.isfunction(getattr(owner, key)) or isinstance(vars(owner)[key], classmethod)


def _function(name: str, function: Any) -> str:
    signature = re.sub(r"^\((self|space: 'Space')(, |\))", lambda found: "(" if found[2] == ", " else "()",
                       str(inspect.signature(function)))  # fmt: skip
    return f"\n### {name}\n\n```python\n{name}{_folded(signature)}\n```\n\n{_text(function)}\n"


def _folded(signature: str) -> str:
    """A long signature over several lines, an argument each."""
    signature = re.sub(r"""(: |-> )(?:'([^']*)'|"([^"]*)")""", r"\1\2\3", signature)  # annotations, not defaults
    signature = signature.replace("builtins.", "")  # which the code needs beside methods of these names
    if len(signature) < 90:
        return signature
    depth, lines, start = 0, [], 1
    for index, character in enumerate(signature):
        depth += (character in "([{") - (character in ")]}")
        if (character == "," and depth == 1) or (depth == 0 and character == ")"):
            lines.append("    " + signature[start:index].strip())
            start = index + 1
        if depth == 0:
            return "(\n" + ",\n".join(lines) + ",\n)" + signature[start:]
    return signature


def _fields(struct: Any) -> str:
    """The fields with their types and defaults, as a call would give them, and what their own docstrings say."""
    said, types = _field_docstrings(struct), _annotations(struct)
    shown = [field for field in msgspec.structs.fields(struct) if field.name != "resolve_options"]  # of the store's own
    signature = _folded(f"({', '.join(f'{field.name}: {types[field.name]}{_default(field)}' for field in shown)})")
    tag = struct.__struct_config__.tag
    kind = f"In JSON its `{struct.__struct_config__.tag_field}` is `{tag}`.\n\n" if tag else ""
    told = "".join(f"\n- `{field.name}`: {said[field.name]}" for field in shown if field.name in said)
    return f"{kind}```python\n{struct.__name__}{signature}\n```" + (f"\n{told}" if told else "")


def _annotations(struct: Any) -> dict[str, str]:
    """As they are written: the names that a reader finds on this page."""
    return {
        name: str(kind)
        for each in reversed(struct.__mro__)
        for name, kind in vars(each).get("__annotations__", {}).items()
    }


def _default(field: Any) -> str:
    if field.default is not msgspec.NODEFAULT:
        is_struct = isinstance(field.default, msgspec.Struct)
        return f" = {type(field.default).__name__}()" if is_struct else f" = {field.default!r}"
    return "" if field.default_factory is msgspec.NODEFAULT else f" = {field.default_factory()!r}"


def _field_docstrings(struct: Any) -> dict[str, str]:
    """The strings that stand behind the fields of a class."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, following in pairwise(definition.body):
        said = following.value if isinstance(following, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(said, ast.Constant):
            text = " ".join(inspect.cleandoc(str(said.value)).split())
            found[field.target.id] = re.sub(r"``(.+?)``", r"`\1`", text)
    return found


def _text(documented: Any) -> str:
    """A docstring as Markdown: code in single backticks, a colon before an indented block."""
    text = re.sub(r"``([^`]+)``", r"`\1`", inspect.getdoc(documented) or "")
    return text.replace("\n::\n\n", "\n").replace("::\n\n", ":\n\n")


_SAME = """\
Each statement is SQLite's. PostgreSQL's is the same with `BIGINT` for `INTEGER`, `BYTEA` for `BLOB` and
`VARCHAR(25) COLLATE "C"` for `VARCHAR(25)`, without `WITHOUT ROWID` and without quotation marks. Where more differs, it
stands below SQLite's.
"""


def write_schema() -> str:
    """The tables: what each is for, and the statements that make it, for PostgreSQL where they are not told."""
    said = _attribute_docstrings(schema)
    parts = ["# The tables\n", NOTE, f"Revision `{REVISION}`. {_text(schema)}\n\n{_SAME}"]
    for table in schema.metadata.sorted_tables:
        ours, theirs = _statements(table, sqlite.dialect()), _statements(table, postgresql.dialect())
        parts += [f"\n## {table.name}\n\n{said.get(table.name, '')}\n\n{_sql(ours)}"]
        parts += [] if [*map(_for_postgresql, ours)] == theirs else [f"\nPostgreSQL:\n\n{_sql(theirs)}"]
    parts += [f"\n## search_text\n\n{_text(fulltext)}\n"]
    for title, statements in (("SQLite", fulltext.CREATE["sqlite"]), ("PostgreSQL", fulltext.CREATE["postgresql"])):
        parts += [f"\n{title}:\n\n{_sql(statements)}"]
    return "".join(parts)


def _sql(statements: Sequence[str]) -> str:
    return "```sql\n" + ";\n".join(statements) + ";\n```\n"


def _for_postgresql(statement: str) -> str:
    """SQLite's statement with the changes that ``_SAME`` tells."""
    for ours, theirs in (("INTEGER", "BIGINT"), ("BLOB", "BYTEA"), ("\n WITHOUT ROWID", ""), ('"', "")):
        statement = statement.replace(ours, theirs)
    return statement.replace("VARCHAR(25)", 'VARCHAR(25) COLLATE "C"')


def _statements(table: Table, dialect: Dialect) -> list[str]:
    """What makes a table and its indexes; these by name, for SQLAlchemy has them in no order."""
    made = [CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda each: str(each.name)))]
    texts = [str(each.compile(dialect=dialect)).strip().replace("\t", "    ") for each in made]
    return ["\n".join(line.rstrip() for line in text.splitlines()) for text in texts]


def write_ddl() -> str:
    """The module that makes a new database: the same statements, as text that needs no SQLAlchemy."""
    said = "The statements that make the tables of a new database. Written by `make docs` from schema.py."
    parts = [f'"""{said}"""\n\nTABLES = {{\n']
    for dialect in (sqlite.dialect(), postgresql.dialect()):
        parts += [f'    "{dialect.name}": (\n']
        for table in schema.metadata.sorted_tables:
            parts += [f'        """\n{statement}\n""",\n' for statement in _statements(table, dialect)]
        parts += ["    ),\n"]
    parts += ['}\n"""For each database, in an order in which each table comes after those that it refers to."""\n']
    return "".join(parts)


def write_erasing() -> str:
    """What an erasure does to each column that takes bytes or text."""
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
    """The tree of errors, what each says of itself, and the limits."""
    # The table tells what each is, so here the tree is one of names.
    tree = re.sub(r"([├└]── \w+) .*", r"\1", _text(errors).replace("::\n", "\n", 1))
    parts = ["# Errors and limits\n", NOTE, tree, "\n\n| error | |\n|---|---|\n"]
    known = dict(inspect.getmembers(errors, inspect.isclass))
    for name in re.findall(r"\w+", tree):
        value = known.get(name)
        if value is not None and issubclass(value, errors.HeadishError):
            parts.append(f"| `{name}` | {' '.join(_text(value).split())}{_also(value)} |\n")
    parts += ["\n## Limits\n\n", _text(limits), "\n\n| limit | value | |\n|---|---|---|\n"]
    for name, doc in _attribute_docstrings(limits).items():
        parts.append(f"| `{name}` | {getattr(limits, name):,} | {doc.split(chr(10) * 2)[0]} |\n")
    return "".join(parts)


def _also(error: type[Exception]) -> str:
    """Which of Python's own errors it is, too."""
    own = next((each for each in (KeyError, RuntimeError, ValueError) if issubclass(error, each)), None)
    return "" if own is None else f" Also a `{own.__name__}`."


def _attribute_docstrings(module: Any) -> dict[str, str]:
    """The strings that stand behind a module's assignments."""
    body = ast.parse(inspect.getsource(module)).body
    found = {}
    for assignment, following in pairwise(body):
        if isinstance(assignment, ast.Assign) and isinstance(following, ast.Expr):
            target = assignment.targets[0]
            if isinstance(target, ast.Name) and isinstance(following.value, ast.Constant):
                found[target.id] = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(str(following.value.value)))
    return found


def write_damage() -> str:
    """What sees damage that was done behind the library's back: the table that the tests hold."""
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
