"""Write the page of the library: every public class and function, with its signature and docstring."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any, cast

import msgspec
from provider_pages import NOTE

import headish
from headish.history.budgets.counting import Tokens, TurnTokens
from headish.history.edits.differences import Change, Diff, Stat
from headish.history.edits.edit import Edited
from headish.history.edits.words import Piece
from headish.history.reading.costs import Cost
from headish.history.reading.usage import Count
from headish.history.reading.versions import Siblings
from headish.history.writing.copies import Copied
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
from headish.values.access.tokens import Token
from headish.values.blocks import KINDS, Erased
from headish.values.messages import Attributes, Overlay, ThreadRecord
from headish.values.results.batches import Batch, BatchEntry, BatchStatus, CollectedBatch
from headish.values.results.bookmarks import Bookmark, Move
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
from headish.values.turns import Meta, Recorded, TreeTurn

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
"""The types of the library's results, in the order of the reference."""
_PROVIDER_VALUES = (Request, Origin, Note, Finding, Delta, Reply, Usage)


def _own_functions(module: ModuleType) -> Iterator[str]:
    """The public classes and functions that a module defines or lists in ``__all__``."""
    listed = getattr(module, "__all__", ())
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__ or name in listed
        if name.startswith("_") or not is_own:
            continue
        if inspect.isfunction(value):
            yield _function(name, value).replace("### ", "#### ", 1)
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            yield f"\n#### {name}\n\n{text_of(value)}\n"


def write_library() -> str:
    """Return the page: stores, databases and their parts, and the functions beside them."""
    parts = ["# The library\n", NOTE, "`from headish import Database, Store, emit, Turn, Message, ContextWindow`\n"]
    parts += ["\n## Store\n\n", text_of(headish.Store), "\n", *_members(headish.Store)]
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
        parts += [f"\n## store.{part.__name__.lower()}\n\n", text_of(part), "\n"]
        parts += _members(part, f"store.{part.__name__.lower()}")
    for kind in (headish.ReadTransaction, headish.WriteTransaction):
        parts += [f"\n## {kind.__name__}\n\n", text_of(kind), "\n", *_members(kind)]
    parts += ["\n## Database\n\n", text_of(headish.Database), "\n", *_members(headish.Database)]
    parts += ["\n## database.spaces\n\n", text_of(Spaces), "\n", *_members(Spaces, "database.spaces")]
    parts += ["\n## database.access_tokens\n\n", text_of(AccessTokens), "\n"]
    parts += _members(AccessTokens, "database.access_tokens")
    parts += ["\n## Emitting\n", _function("emit", headish.emit)]
    parts += ["\n## Restoring\n", _function("restore", headish.restore)]
    parts += ["\n## Bundles without a store\n"]
    parts += [_function(name, getattr(headish, name)) for name in ("verify_bundle", "rewrite_bundle")]
    from headish import providers, tools, transcripts
    from headish.providers.pointers import NamedPointer, Pointer
    from headish.store.answers.capture import Capture

    parts += ["\n## Providers\n\n", text_of(providers), "\n"]
    parts += [
        _function(f"headish.providers.{name}", getattr(providers, name))
        for name in ("prepare_request", "lint", "parse_response")
    ]
    parts += ["\n### headish.providers.Stream\n\n", text_of(providers.Stream), "\n"]
    parts += [_function(f"Stream.{name}", getattr(providers.Stream, name)) for name in ("feed", "fail", "finish")]
    parts += ["\n### Capture\n\n", text_of(Capture), "\n"]
    parts += [_function(f"Capture.{name}", getattr(Capture, name)) for name in ("read", "feed", "fail", "finish")]
    for value in (Settings, *_PROVIDER_VALUES, Pointer, NamedPointer):
        parts.append(f"\n### {value.__name__}\n\n{text_of(value)}\n\n{_fields(value)}\n")
    from headish import adapters
    from headish.adapters import healing, hiding, holding, messages, naming, plugins, sessions

    parts += ["\n## What adapters are made with\n\n", text_of(adapters), "\n"]
    for module in (holding, naming, sessions, messages, healing, hiding, plugins):
        parts += [f"\n### {module.__name__}\n\n", text_of(module), "\n", *_own_functions(module)]
    parts += ["\n## Transcripts\n\n", text_of(transcripts), "\n"]
    functions = [name for name in transcripts.__all__ if inspect.isfunction(getattr(transcripts, name))]
    parts += [_function(f"headish.transcripts.{name}", getattr(transcripts, name)) for name in functions]
    parts += [f"\n### Transcript\n\n{text_of(transcripts.Transcript)}\n\n{_fields(transcripts.Transcript)}\n"]
    parts += ["\n## Tools\n\n", text_of(tools), "\n\n### Router\n\n", text_of(tools.Router), "\n"]
    parts += [
        _function(f"Router.{name}", getattr(tools.Router, name)) for name in ("add", "run", "arun", "check", "cancel")
    ]
    parts += [_function("headish.tools.open_calls", tools.open_calls)]
    parts += _asyncio()
    parts += ["\n## Values\n\n`to_dict()`, unless a value shows its own: ", text_of(PlainResult.to_dict), "\n"]
    for value in VALUES:
        parts.append(f"\n### {value.__name__}\n\n{text_of(value)}\n\n{_fields(value)}\n")
        if hasattr(value, "to_dict") and value.to_dict is not PlainResult.to_dict:
            parts.append(f"\n`to_dict()`: {text_of(value.to_dict).removeprefix('As plain data: ')}\n")
    return "".join(parts)


def _asyncio() -> Iterator[str]:
    """The section on ``headish.aio``, without its verbs, which are those of the sync classes."""
    from headish import aio, calls

    yield f"\n## headish.aio\n\n{text_of(aio)}\n"
    yield "\nThe verbs and parts are those of `Store` and `Database`, awaited. "
    yield "`async for` goes over `turns`, `follow` and `audit`.\n"
    for kind in (aio.AsyncStore, aio.AsyncDatabase, aio.AsyncStream, aio.AsyncAnswer, aio.AsyncCapture):
        yield f"\n### {kind.__name__}\n\n{text_of(kind)}\n"
    yield _function("headish.aio.finish", aio.finish)
    yield _function("headish.aio.outcome_of", aio.outcome_of)
    yield f"\n### headish.calls.Timeouts\n\n{text_of(calls.Timeouts)}\n\n{_fields(calls.Timeouts)}\n"
    yield f"\n### headish.calls.Stop\n\n{text_of(calls.Stop)}\n"


def _members(owner: type, name: str | None = None) -> Iterator[str]:
    """The public methods of a class in the order of its source, ``open`` first."""
    listed = [key for key in list(vars(owner)) if not key.startswith("_") and _is_method(owner, key)]
    for key in sorted(listed, key=lambda key: key != "open"):
        yield _function(f"{name or owner.__name__}.{key}", getattr(owner, key))
    if "__getitem__" in vars(owner):
        yield f"\n### `{name}[name]`\n\n{text_of(vars(owner)['__getitem__'])}\n"


def _is_method(owner: type, key: str) -> bool:
    # getattr first: the attribute may be a placeholder that imports the method's module when it is looked up.
    return inspect.isfunction(getattr(owner, key)) or isinstance(vars(owner)[key], classmethod)


def _function(name: str, function: Any) -> str:
    signature = re.sub(r"^\((self|space: 'Space')(, |\))", lambda found: "(" if found[2] == ", " else "()",
                       str(_as_written(function)))  # fmt: skip
    return f"\n### {name}\n\n```python\n{name}{_folded(signature)}\n```\n\n{text_of(function)}\n"


def _as_written(function: Any) -> inspect.Signature:
    """The signature of a function. Annotations that are objects are taken from the source, where they have the names
    that a reader finds on this page."""
    signature = inspect.signature(function)
    if all(isinstance(kind, str) for kind in function.__annotations__.values()):
        return signature
    definition = _definition_of(function)
    assert isinstance(definition, ast.FunctionDef)
    written = {each.arg: ast.unparse(each.annotation) for each in definition.args.args if each.annotation}
    listed = [each.replace(annotation=written.get(name, each.empty)) for name, each in signature.parameters.items()]
    assert definition.returns is not None
    return signature.replace(parameters=listed, return_annotation=ast.unparse(definition.returns))


def _definition_of(named: Any) -> ast.stmt:
    """The definition of a class or a function in its source."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(named))).body
    return definition


def _folded(signature: str) -> str:
    """Break a long signature into lines, one for each argument."""
    signature = re.sub(r"""(: |-> )(?:'([^']*)'|"([^"]*)")""", r"\1\2\3", signature)  # annotations, not defaults
    signature = signature.replace("builtins.", "")  # which the code needs in classes that have methods of these names
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
    """The fields of a struct as a call with types and defaults, then the docstrings of the fields."""
    docstrings, types = _field_docstrings(struct), _annotations(struct)
    # `resolve_options` is for the store's own use.
    shown = [field for field in msgspec.structs.fields(struct) if field.name != "resolve_options"]
    signature = _folded(f"({', '.join(f'{field.name}: {types[field.name]}{_default(field)}' for field in shown)})")
    tag = struct.__struct_config__.tag
    kind = f"In JSON its `{struct.__struct_config__.tag_field}` is `{tag}`.\n\n" if tag else ""
    notes = "".join(f"\n- `{field.name}`: {docstrings[field.name]}" for field in shown if field.name in docstrings)
    return f"{kind}```python\n{struct.__name__}{signature}\n```" + (f"\n{notes}" if notes else "")


def _annotations(struct: Any) -> dict[str, str]:
    """The annotations of a struct's fields as in the source, with the names that a reader finds on this page."""
    return {
        field.target.id: ast.unparse(field.annotation).strip("'")
        for each in reversed(struct.__mro__)
        if inspect.get_annotations(each)
        for field in cast(ast.ClassDef, _definition_of(each)).body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }


def _default(field: Any) -> str:
    if field.default is not msgspec.NODEFAULT:
        is_struct = isinstance(field.default, msgspec.Struct)
        return f" = {type(field.default).__name__}()" if is_struct else f" = {field.default!r}"
    return "" if field.default_factory is msgspec.NODEFAULT else f" = {field.default_factory()!r}"


def _field_docstrings(struct: Any) -> dict[str, str]:
    """The strings that follow the fields of a class, by field."""
    definition = cast(ast.ClassDef, _definition_of(struct))
    docstrings = {}
    for field, following in pairwise(definition.body):
        said = following.value if isinstance(following, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(said, ast.Constant):
            text = " ".join(inspect.cleandoc(str(said.value)).split())
            docstrings[field.target.id] = re.sub(r"``(.+?)``", r"`\1`", text)
    return docstrings


def text_of(documented: Any) -> str:
    """Convert a docstring to Markdown: code in single backticks, one colon before an indented block."""
    text = re.sub(r"``([^`]+)``", r"`\1`", inspect.getdoc(documented) or "")
    return text.replace("\n::\n\n", "\n").replace("::\n\n", ":\n\n")
