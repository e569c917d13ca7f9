"""``make aio``: write the async verbs, ``store/headish/aio/verbs``, from the sync ones.

A test compares these modules with what this one would write now. The signatures are copied word by word, so that type
checkers and editors see them (ADR 0117).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_overloads

from headish.store.asking.batches import Batches
from headish.store.asking.pointers import Pointers
from headish.store.asking.streams import Streams
from headish.store.asking.tools import Tools
from headish.store.database import Database
from headish.store.keeping.access_tokens import AccessTokens
from headish.store.keeping.bookmarks import Bookmarks
from headish.store.keeping.bundles import Bundles
from headish.store.keeping.calls import Calls
from headish.store.keeping.conversations import Conversations
from headish.store.keeping.erase import Erasures
from headish.store.keeping.objects import Objects
from headish.store.keeping.remotes import Remotes
from headish.store.keeping.spaces import Spaces
from headish.store.store import Store

FOLDER = Path(__file__).parents[1] / "store/headish/aio/verbs"
PARTS = (
    AccessTokens, Batches, Bookmarks, Bundles, Calls, Conversations, Erasures, Objects, Pointers, Remotes, Spaces,
    Streams, Tools,
)  # fmt: skip
MODULES: dict[str, tuple[type, ...]] = {"parts": PARTS, "store": (Store,), "database": (Database,)}
BY_HAND = {"open", "close", "store", "sync"}
"""Verbs that ``AsyncStore`` and ``AsyncDatabase`` implement by hand."""
PLAIN = {"read_only", "target", "payload_limit_bytes"}
"""Properties that read nothing from the database, so they stay sync."""
ASKING = {"ask", "retry", "summarize", "compact", "open_answer", "open_retry"}
"""Verbs that ask a model, and take ``stop=``."""
WAITING = {
    "ask_title", "run_tools", "import_file", "backup", "verify", "gc", "reindex", "search_index", "distribute",
    "copy_to", "move", "erase", "export", "render", "render_pieces",
    "create", "status", "collect", "apply", "push", "pull", "exchange", "answer", "invite", "revoke",
}  # fmt: skip
"""Verbs that may take long, so they run in a pool of their own (``WAITING_THREADS``) and do not hold up others."""
TAKING = {"add_turns", "reply"}
"""Verbs that also take async iterables."""
RESULTS = {
    "StoredTurns": ("Turns", "{call}", "async "),
    "Answer": ("Opening[AsyncAnswer]", "return self._open_answer({verb}{given})", ""),
    "Capture": ("Opening[AsyncCapture]", "return self._open_capture({verb}{given})", ""),
    "S": ("Self", "return self._beside(await self._finish({verb}{given}))", "async "),
}
"""Results that have an async front: by the sync type, the type of the front, the code that makes it, and ``async``
if the verb is a coroutine function."""
WIDER: dict[str, tuple[str, dict[str, str]]] = {
    "run": (" | AsyncRun", {"AsyncRun": "headish.aio.bridging"}),
    "approve": (" | AsyncApprove", {"AsyncApprove": "headish.aio.bridging"}),
    "items": (" | AsyncIterable[Mapping[str, Any] | Content]", {"AsyncIterable": "collections.abc"}),
    "response": (" | AsyncIterable[Any]", {"AsyncIterable": "collections.abc"}),
}
"""What a parameter takes beyond the sync verb's types (coroutine functions, async iterables), and the imports of it."""
STEPS = {"follow": "self._follow_steps"}
"""Verbs whose sync form would sleep in a thread, and what runs in its place."""


class Verb(NamedTuple):
    """A function or property of a sync class: its name, its source as a tree, and the object."""

    name: str
    node: ast.FunctionDef
    function: Callable[..., Any]
    is_property: bool


class Names:
    """Collects the imports that annotations need."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def use(self, annotation: ast.expr, home: str) -> str:
        """Return an annotation as text, and import the names in it. ``home`` is the module that it is written in."""
        # The tree belongs to the verb, and is read again for its parameters.
        annotation = deepcopy(annotation)
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                node.id = self.add(node.id, home)
        return ast.unparse(annotation)

    def add(self, name: str, home: str) -> str:
        """Import a name and return what to call it here. Of two with one name, the second gets its module's name
        as a prefix."""
        module = origin_of(name, home)
        if self.found.setdefault(name, module) == module:
            return name
        other = f"{module.rpartition('.')[2].title().replace('_', '')}{name}"
        self.found[f"{name} as {other}"] = module
        return other

    def lines(self) -> Iterator[str]:
        if self.found.pop("builtins", None):
            yield "import builtins"
        if self.found.pop("os", None):
            yield "import os"
        by_module: dict[str, list[str]] = {}
        for name, module in self.found.items():
            by_module.setdefault(module, []).append(name)
        for module, names in sorted(by_module.items()):
            yield f"from {module} import {', '.join(sorted(names))}"


@cache
def _imports(home: str) -> list[ast.AST]:
    tree = ast.parse(inspect.getsource(import_module(home)))
    return [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import)]


def origin_of(name: str, home: str) -> str:
    """The module from which the module ``home`` imports a name; ``home`` itself if it defines it."""
    for node in _imports(home):
        if isinstance(node, ast.ImportFrom) and any((each.asname or each.name) == name for each in node.names):
            assert node.module is not None
            return node.module
        if isinstance(node, ast.Import) and any(each.name == name for each in node.names):
            return name
    return home


def verbs_of(kind: type) -> Iterator[Verb]:
    """The public verbs and properties of a class and its methods as a collection, in the order of their names."""
    for name, member in inspect.getmembers(kind):
        if name in BY_HAND or (
            name.startswith("_") and name not in ("__getitem__", "__iter__", "__len__", "__contains__")
        ):
            continue
        function = member.fget if isinstance(member, property) else member
        if callable(function) and getattr(function, "__module__", "").startswith("headish"):
            yield verb_of(name, inspect.unwrap(function), isinstance(member, property))


def verb_of(name: str, function: Callable[..., Any], is_property: bool = False) -> Verb:
    [node] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    return Verb(name, node, function, is_property)


def write_class(kind: type, names: Names) -> str:
    """Write the async class of a sync one."""
    names.add(kind.__name__, kind.__module__)
    base, name = f'Front["{kind.__name__}"]', f"Async{kind.__name__}"
    is_mapping = issubclass(kind, Mapping)
    # MappingFront has the dunder methods of a mapping, so they are not written for one.
    if is_mapping:
        key, value = key_and_value(kind, names)
        base = f'MappingFront["{kind.__name__}", "{key}", "{value}"]'
    if kind in (Store, Database):
        name = f"{kind.__name__}Verbs"
    if kind is Store:
        base = "StoreFront"
    summary = (inspect.getdoc(kind) or kind.__name__).split("\n")[0]
    body = [write_verb(verb, names) for verb in verbs_of(kind) if not (is_mapping and verb.name.startswith("__"))]
    return f'class {name}({base}):\n    """For asyncio: {summary[0].lower()}{summary[1:]}"""\n\n' + "\n".join(body)


def key_and_value(kind: type, names: Names) -> list[str]:
    """The types of a mapping's keys and values, from the bases of its class."""
    [node] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    [base] = [each for each in node.bases if isinstance(each, ast.Subscript)]
    assert isinstance(base.slice, ast.Tuple)
    return [names.use(each, kind.__module__) for each in base.slice.elts]


def write_verb(verb: Verb, names: Names) -> str:
    """Write one verb: the signature of the sync one, and the call that runs it on a pool of threads."""
    home = verb.function.__module__
    assert verb.node.returns is not None
    if verb.is_property:
        return write_property(verb, names)
    if verb.name.startswith("__"):
        return write_dunder(verb, names)
    signature, given = parameters(verb, names)
    result = ast.unparse(verb.node.returns)
    sync = STEPS.get(verb.name, f"self.sync.{verb.name}")
    runners = {"_ask": ASKING, "_wait": WAITING, "_take": TAKING}
    runner = next((each for each, verbs in runners.items() if verb.name in verbs), "_finish")
    call = f"return await self.{runner}({sync}{given})"
    if result == "T":  # type checkers cannot infer the result of a partial of a generic method
        call = f"return await self.{runner}(lambda: {sync}({given.removeprefix(', ')}))"
    if result in RESULTS:
        shown, template, prefix = RESULTS[result]
        call = template.format(call=f"return Turns(await self.{runner}({sync}{given}))", verb=sync, given=given)
    elif result.startswith("Iterator["):
        shown, call, prefix = f"AsyncStream[{result[len('Iterator[') :]}", f"return self._stream({sync}{given})", ""
        names.use(verb.node.returns, home)
        names.found.pop("Iterator", None)  # AsyncStream is in its place
    else:
        shown, prefix = names.use(verb.node.returns, home), "async "
    head = f"{prefix}def {verb.name}(self{signature}) -> {shown}:"
    overloads = [write_overload(verb_of(verb.name, each), names) for each in get_overloads(verb.function)]
    return "".join([*overloads, written(head, said_of(verb), call)])


def write_overload(verb: Verb, names: Names) -> str:
    assert verb.node.returns is not None
    signature, _ = parameters(verb, names)
    shown = names.use(verb.node.returns, verb.function.__module__)
    return "    @overload\n" + written(f"async def {verb.name}(self{signature}) -> {shown}:", "", "...") + "\n"


def write_property(verb: Verb, names: Names) -> str:
    assert verb.node.returns is not None
    result = ast.unparse(verb.node.returns)
    if verb.name in PLAIN:
        return "    @property\n" + written(
            f"def {verb.name}(self) -> {result}:", said_of(verb), f"return self.sync.{verb.name}"
        )
    if result in {part.__name__ for part in PARTS}:
        body = f"return Async{result}(self.sync.{verb.name})"
        return "    @property\n" + written(f"def {verb.name}(self) -> Async{result}:", said_of(verb), body)
    shown = names.use(verb.node.returns, verb.function.__module__)
    body = f"return await self._finish(lambda: self.sync.{verb.name})"
    return written(f"async def {verb.name}(self) -> {shown}:", said_of(verb), body)


def write_dunder(verb: Verb, names: Names) -> str:
    """Write the methods of a collection. Those that Python has no async form of get a name, such as ``count``."""
    home = verb.function.__module__
    assert verb.node.returns is not None
    match verb.name:
        case "__len__":
            return written(
                "async def count(self) -> int:",
                "How many there are: ``len``.",
                "return await self._finish(self.sync.__len__)",
            )
        case "__contains__":
            call = "return await self._finish(lambda: item in self.sync)"
            return written("async def contains(self, item: object) -> bool:", "Whether it is there: ``in``.", call)
        case "__iter__":
            shown = names.use(verb.node.returns, home).replace("Iterator[", "AsyncStream[")
            names.found.pop("Iterator", None)
            return written(f"def __aiter__(self) -> {shown}:", "", "return self._stream(self.sync.__iter__)")
        case _:
            signature, _ = parameters(verb, names)
            key = verb.node.args.args[1].arg
            names.found["Coroutine"], names.found["Any"] = "collections.abc", "typing"
            shown = names.use(verb.node.returns, home)
            call = f"return self._finish(self.sync.__getitem__, {key}={key})"
            return written(
                f"def __getitem__(self{signature}) -> Coroutine[Any, Any, {shown}]:", "``await part[key]``.", call
            )


def parameters(verb: Verb, names: Names) -> tuple[str, str]:
    """The parameters after ``self``: as declarations, and as arguments to pass on."""
    home, declared, names_passed = verb.function.__module__, list[str](), list[str]()
    sync = inspect.signature(verb.function)
    arguments = verb.node.args
    assert not arguments.posonlyargs
    assert arguments.vararg is None
    for argument in arguments.args[1:]:  # without self
        declared.append(declare(argument, sync, names, home))
        names_passed.append(argument.arg)
    if arguments.kwonlyargs:
        declared.append("*")
    for argument in arguments.kwonlyargs:
        declared.append(declare(argument, sync, names, home))
        names_passed.append(argument.arg)
    handed = [f"{name}={name}" for name in names_passed]
    if arguments.kwarg is not None:
        assert arguments.kwarg.annotation is not None
        declared.append(f"**{arguments.kwarg.arg}: {names.use(arguments.kwarg.annotation, home)}")
        handed.append(f"**{arguments.kwarg.arg}")
    return "".join(f", {each}" for each in declared), "".join(f", {each}" for each in handed)


def declare(argument: ast.arg, sync: inspect.Signature, names: Names, home: str) -> str:
    assert argument.annotation is not None
    default = sync.parameters[argument.arg].default
    wider, needs = WIDER.get(argument.arg, ("", {}))
    names.found |= needs
    text = f"{argument.arg}: {names.use(argument.annotation, home)}{wider}"
    return text if default is inspect.Parameter.empty else f"{text} = {default!r}"


def said_of(verb: Verb) -> str:
    """The first paragraph of the sync verb's docstring."""
    return " ".join((ast.get_docstring(verb.node) or "").split("\n\n")[0].split())


def written(head: str, said: str, call: str) -> str:
    lines = [fitted(head, 4)]
    lines += [textwrap.indent(textwrap.fill(f'"""{said}"""', 112), "    ")] * bool(said)
    lines += [textwrap.indent(fitted(call, 8), "    ")]
    return textwrap.indent("\n".join(lines) + "\n", "    ")


def fitted(line: str, indent: int) -> str:
    """A call or signature, on several lines if it is too long for one."""
    if len(line) + indent <= 120:
        return line
    if " -> " in line:
        begin, _, rest = line.partition("(")
        inside, _, end = rest.rpartition(") -> ")
        end = f") -> {end}"
    else:
        at = line.rindex("(", 0, line.index(", "))
        begin, inside = line[:at], line[at + 1 :].rstrip(")")
        end = line[len(line.rstrip(")")) :]
    wrapped = textwrap.fill(inside, 108, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    return f"{begin}(\n{wrapped}\n{end}"


def module_of(name: str) -> str:
    """The text of the module ``name``, with the async classes of the sync ones in ``MODULES``."""
    names = Names()
    classes = "\n\n".join(write_class(kind, names) for kind in MODULES[name])
    parts = sorted(
        {f"Async{part.__name__}" for part in PARTS if f"Async{part.__name__}(" in classes} if name != "parts" else ()
    )
    fronts = [each for each in ("Front", "MappingFront", "Opening", "Turns") if re.search(rf"\b{each}[\[(]", classes)]
    own = [f"from headish.aio.fronts import {', '.join(fronts)}"]
    own += [f"from headish.aio.verbs.parts import {', '.join(parts)}"] * bool(parts)
    own += ["from headish.aio.opening import StoreFront"] * ("StoreFront" in classes)
    own += ["from msgspec import UNSET"] * ("UNSET" in classes)
    own += ["from headish.aio.streams import AsyncStream"] * ("AsyncStream[" in classes)
    answers = [each for each in ("AsyncAnswer", "AsyncCapture") if f"[{each}]" in classes]
    typed = list(names.lines()) + [f"from headish.aio.answers import {', '.join(answers)}"] * bool(answers)
    typed += ["from typing import Self"] * ("-> Self" in classes)
    return (
        f'"""The verbs of {SAID[name]} for asyncio, written by ``make aio``. They run in threads."""\n\n'
        "# ruff: noqa: E501\n"
        "from __future__ import annotations\n\n"
        f"from typing import TYPE_CHECKING{', overload' * ('@overload' in classes)}\n\n"
        + "\n".join(own) + "\n\nif TYPE_CHECKING:\n" + textwrap.indent("\n".join(typed), "    ") + f"\n\n\n{classes}"
    )  # fmt: skip


SAID = {"parts": "the parts of a store", "store": "a store", "database": "a database"}


def main() -> None:
    """Write the modules that changed, and print which."""
    for name in MODULES:
        path, text = FOLDER / f"{name}.py", module_of(name)
        # Only then, so that the message names what changed.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
