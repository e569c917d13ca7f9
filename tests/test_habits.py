"""What holds for all tests: each can fail, and each stands where the code that it tests does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LIBRARY = TESTS.parent / "store" / "headish"
OTHERS = {"benchmarks", "cli", "concurrency", "docs", "emission", "migrations", "support", "wheel"}
"""Folders that mirror no folder of the library: its other packages, and what runs across all of it."""
MODULES = sorted(path for path in TESTS.rglob("*.py") if "benchmarks" not in path.parts)
ASSERTING = ("pytest.raises", "pytest.warns", "pytest.fail")
RECEIVERS = ("self", "type(self)", "headish")
"""Whose methods are helpers: those of the test's own class, and the command."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, Function))


def inside(function: Function) -> Iterator[ast.AST]:
    return (node for statement in function.body for node in ast.walk(statement))


def asserts(function: Function) -> bool:
    """Whether a statement of its own fails where something is not as it should be."""
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Raise) and "AssertionError" in ast.unparse(node))
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ASSERTING)
        for node in inside(function)
    )


def called(function: Function) -> set[str]:
    """The names of the helpers that it may call."""
    calls = [node.func for node in inside(function) if isinstance(node, ast.Call)]
    names = {call.id for call in calls if isinstance(call, ast.Name)}
    methods = [call for call in calls if isinstance(call, ast.Attribute) and ast.unparse(call.value) in RECEIVERS]
    return names | {method.attr for method in methods}


@pytest.mark.slow
def test_a_test_asserts_more_than_that_nothing_raised() -> None:
    """It asserts, or calls a helper that does, or one whose own helpers do."""
    known = [(path, function) for path in MODULES for function in functions(path)]
    asserting = {function.name for _, function in known if asserts(function)}
    calls = [(function.name, called(function)) for _, function in known]
    while more := {name for name, helpers in calls if helpers & asserting} - asserting:
        asserting |= more
    tests = [(path, function) for path, function in known if function.name.startswith("test_")]
    assert len(tests) > 1000
    assert [f"{path}:{test.lineno}: {test.name}" for path, test in tests if test.name not in asserting] == []


def test_each_folder_of_the_library_has_its_tests() -> None:
    library = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/*.py")}
    assert folders == library | OTHERS


@pytest.mark.parametrize("path", sorted((TESTS / "support").rglob("*.py")), ids=lambda path: path.name)
def test_what_tests_share_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
