"""What holds for all tests: each can fail, and each stands where the code that it tests does."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from support.loops import failing

TESTS = Path(__file__).parent
LIBRARY = TESTS.parent / "store" / "headish"
PACKAGES = (
    LIBRARY,
    LIBRARY.parents[1] / "cli" / "headish_cli",
    LIBRARY.parents[1] / "migrations" / "headish_migrations",
)
FOLDER_MODULES = 15
"""What fits into one look."""
INSIDE = {"answers", "backups", "erasing", "feeds", "frameworks", "searching"}
"""Folders inside others that have tests of their own."""
OTHERS = {
    "benchmarks",
    "cli",
    "concurrency",
    "corruption",
    "docs",
    "emission",
    "migrations",
    "fuzz",
    "mutants",
    "soak",
    "support",
    "wheel",
}
"""Folders that mirror no folder of the library: its other packages, and what runs across all of it."""
TOP_LEVEL = {"cli", "docs", "migrations", "requirements", "store", "tests", ".ci", "Makefile", "pyproject.toml"} | {
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
}
MODULES = sorted(path for path in TESTS.rglob("*.py") if "benchmarks" not in path.parts)
TESTED = [path for path in MODULES if path.name.startswith("test_")]
STARTING = ("run_browser", "run_together", "start", "subprocess.Popen", "subprocess.run")
ASSERTING = ("pytest.raises", "pytest.warns", "pytest.fail")
pytestmark = pytest.mark.xdist_group("habits")
"""All modules are read by several tests: one process reads them once."""
RECEIVERS = ("self", "type(self)", "headish")
"""Whose methods are helpers: those of the test's own class, and the command."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Written(NamedTuple):
    """A function of the tests. ``calls`` are what it calls, as that is written, ``helpers`` the names of the helpers
    that it may call."""

    name: str
    line: int
    asserts: bool
    calls: frozenset[str]
    helpers: frozenset[str]


class Module(NamedTuple):
    """What is asked of a module of the tests. ``slow`` are the functions that a marker of the module, of their class or
    of their own says are slow."""

    functions: tuple[Written, ...]
    imported: frozenset[str]
    slow: frozenset[str]


@cache
def module_at(path: Path) -> Module:
    """A module, read once: its tree is large."""
    tree = ast.parse(path.read_text("utf-8"))
    imported = frozenset(name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names)
    nodes = [node for node in statements(tree) if isinstance(node, Function | ast.ClassDef)]
    functions = tuple(written(node) for node in nodes if isinstance(node, Function))
    return Module(functions, imported, frozenset(marked_slow(tree, nodes)))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements below a node, and what holds some. Expressions hold none, and are most of a tree."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for each in getattr(node, field, ()):
            yield each
            yield from statements(each)


def written(function: Function) -> Written:
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    targets = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    methods = {each.attr for each in targets if isinstance(each, ast.Attribute) and named(each.value) in RECEIVERS}
    calls = frozenset(map(named, targets))
    return Written(function.name, function.lineno, asserts(nodes, calls), calls, frozenset(names | methods))


def named(node: ast.AST) -> str:
    """A name, with what it is a part of, as it is written; nothing for any other expression."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name):
            return f"{named(value)}.{name}"
        case ast.Call(ast.Name("type"), [ast.Name(name)]):
            return f"type({name})"
    return ""


def asserts(nodes: list[ast.AST], calls: frozenset[str]) -> bool:
    """Whether a statement of its own fails where something is not as it should be."""
    return not calls.isdisjoint(ASSERTING) or any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Raise) and "AssertionError" in ast.unparse(node))
        for node in nodes
    )


def marked_slow(tree: ast.Module, nodes: Iterable[Function | ast.ClassDef]) -> set[str]:
    marks = [
        node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0])
    ]
    marked: list[ast.AST] = [tree] if any("slow" in ast.unparse(mark.value) for mark in marks) else []
    for node in nodes:
        marked += [node for mark in node.decorator_list if ast.unparse(mark) == "pytest.mark.slow"]
    inside = [node for place in marked for node in (place, *statements(place))]
    return {node.name for node in inside if isinstance(node, Function)}


@pytest.mark.slow
def test_a_test_asserts_more_than_that_nothing_raised() -> None:
    """It asserts, or calls a helper that does, or one whose own helpers do."""
    known = [(path, function) for path in MODULES for function in module_at(path).functions]
    asserting = {function.name for _, function in known if function.asserts}
    while more := {function.name for _, function in known if function.helpers & asserting} - asserting:
        asserting |= more
    tests = [(path, function) for path, function in known if function.name.startswith("test_")]
    assert len(tests) > 1000
    assert [f"{path}:{test.line}: {test.name}" for path, test in tests if test.name not in asserting] == []


def test_a_test_that_starts_a_process_is_marked_slow() -> None:
    """By itself or by a helper of its module; a module, a class or a test can be marked. `make quick` runs the rest."""
    unmarked = [f"{path.relative_to(TESTS)}: {test}" for path in TESTED for test in starting(path)]
    assert len(TESTED) > 200
    assert unmarked == []


def starting(path: Path) -> set[str]:
    """The tests of a module that start a process and are not marked slow."""
    module = module_at(path)
    starters = set(STARTING) & (module.imported | {"subprocess.run", "subprocess.Popen"})
    names = {function.name for function in module.functions if starters & function.calls}
    while more := {function.name for function in module.functions if function.helpers & names} - names:
        names |= more
    return {name for name in names if name.startswith("test_")} - module.slow


def test_a_folder_holds_at_most_fifteen_modules() -> None:
    roots = (LIBRARY, LIBRARY.parents[1] / "cli" / "headish_cli")
    folders = {path.parent for root in roots for path in root.rglob("*.py")}
    crowded = {
        str(folder): count
        for folder in folders
        if (count := sum(path.name != "__init__.py" for path in folder.glob("*.py"))) > FOLDER_MODULES
    }
    assert not crowded


def test_each_folder_of_the_library_has_its_tests() -> None:
    library = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    inside = {path.parent.name for path in LIBRARY.glob("*/*/__init__.py")}
    assert inside >= INSIDE
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/*.py")}
    assert folders == library | INSIDE | OTHERS


@pytest.mark.slow
def test_the_top_level_holds_what_it_is_known_to_hold() -> None:
    """What a command that was tried here left behind is easily committed."""
    root = TESTS.parent
    if not (root / ".git").exists():
        pytest.skip("this is no checkout: only git knows which files are the project's")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    assert {Path(name).parts[0] for name in tracked.split("\0") if name} <= TOP_LEVEL


def test_what_tests_share_says_what_it_is_for() -> None:
    shared = sorted((TESTS / "support").rglob("*.py"))
    assert [path.name for path in shared if not ast.get_docstring(ast.parse(path.read_text("utf-8")))] == []


def test_a_loop_names_every_case_that_fails_and_is_never_empty() -> None:
    def refuses(number: int, divisor: int) -> None:
        with pytest.raises(ZeroDivisionError):
            number // divisor

    assert [*failing([(1, 0), (1, 1), (2, 2), ("1", 0)], refuses)] == ["(1, 1)", "(2, 2)", "('1', 0)"]
    with pytest.raises(AssertionError):
        failing([], refuses)


def test_an_adapter_of_ours_looks_behind_no_store() -> None:
    """What it would need there, an adapter of somebody else needs too: it belongs into ``headish.adapters``."""
    behind = {
        f"{name_of(path)}: {ast.unparse(node)}"
        for path in (LIBRARY / "integrations").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and isinstance(node.value, ast.Name)
        and node.value.id in ("store", "read", "write", "database")
    }
    assert not behind


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even late, inside a function, or for types alone: what needs each other is one thing."""
    imports = {name_of(path): imported_by(path) for root in PACKAGES for path in root.rglob("*.py")}
    graph = {module: {each for each in names if each in imports} for module, names in imports.items()}
    reached = {module: set(lower) for module, lower in graph.items()}
    for between in graph:
        for lower in reached.values():
            if between in lower:
                lower |= reached[between]
    assert {module for module, lower in reached.items() if module in lower} == set()


@cache
def declared(path: Path) -> list[ast.Import | ast.ImportFrom | ast.ClassDef]:
    """The imports and classes of a module, wherever they stand."""
    tree = ast.parse(path.read_text("utf-8"))
    return [node for node in statements(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef)]


@cache
def is_module(package: str, name: str) -> bool:
    """Whether a name of a package is a module of it."""
    folders = [root.parent.joinpath(*package.split("."), name) for root in PACKAGES]
    return any(folder.is_dir() or folder.with_suffix(".py").is_file() for folder in folders)


def name_of(path: Path) -> str:
    """A module by its dotted name, a package by its folder's."""
    [root] = [each for each in PACKAGES if path.is_relative_to(each)]
    return ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path: Path) -> set[str]:
    """The modules that a module names in an import, wherever that stands; a package only where its own names are
    taken."""
    found: set[str] = set()
    for node in declared(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = {alias.name for alias in node.names if is_module(node.module, alias.name)}
            found |= {f"{node.module}.{name}" for name in modules}
            found |= {node.module} if len(modules) < len(node.names) else set()
    return found - {name_of(path)}


def test_a_class_name_stands_for_one_class() -> None:
    """A private one may stand again in another module of its folder alone: nobody meets both."""
    places: dict[str, list[Path]] = {}
    for path in (path for root in PACKAGES for path in root.rglob("*.py")):
        for node in declared(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.parent if node.name.startswith("_") else path)
    twice = {
        name for name, found in places.items() if len(found) > 1 and not (name.startswith("_") and len(set(found)) == 1)
    }
    assert not twice


def test_the_picture_of_the_floors_is_that_of_pyproject() -> None:
    """``pyproject.toml`` says what is above what, and nothing else numbers a floor."""
    contracts = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each.get("containers") == ["headish"]]
    page = (TESTS.parent / "CONTRIBUTING.md").read_text("utf-8")
    picture = page.partition("```text\nstore/headish/\n")[2].partition("```")[0]
    drawn = [
        {re.split(r"[/.\s]", line.strip())[0] for line in floor.splitlines()}
        for floor in picture.strip("\n").split("\n\n")
    ]
    assert drawn == [set(floor.split(" | ")) for floor in layers]
    numbered = [
        path for root in PACKAGES for path in root.rglob("*.py") if re.search(r"\bFloor \d", path.read_text("utf-8"))
    ]
    assert not numbered
