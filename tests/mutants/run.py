"""Whether the tests of a floor notice that its code was changed: `make mutants`.

    python tests/mutants/run.py --pytest PYTEST [--places 20] [--seed 1] [FLOOR …]

Of each folder of the library it draws places, changes one at a time in a copy, and runs the tests of that folder until
the first failure: the quick ones, then the slow ones. PostgreSQL and the tests of other folders are left out, so a
share is a lower bound. The changes are those of Cosmic Ray (https://cosmic-ray.readthedocs.io), and one of our own: a
guard that is never taken.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names
from parso.python.tree import Keyword

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "store" / "headish"
APART = {"integrations"}
"""Most of its frameworks lie in environments of their own: its tests would be skipped."""
GENERATED = LIBRARY / "aio" / "verbs"
INSIDE = {
    "answers": "store",
    "backups": "store",
    "erasing": "history",
    "feeds": "history",
    "frameworks": "transcripts",
    "searching": "history",
}
"""Folders inside another one that have tests of their own."""
LEAST_SECONDS, TIMES = 60, 4
"""A change may make the tests of a folder take so many times as long; then it was noticed."""
QUICK, SLOW = "not slow and not postgresql", "slow and not postgresql"
NOTHING_RUN = 5
"""pytest's exit code where a folder has no such tests."""
ENDING = ("return_stmt", "raise_stmt")
Position = tuple[tuple[int, int], tuple[int, int]]


class Place(NamedTuple):
    """Where a module can be changed in one way: the number of a change among those of its operator."""

    position: Position
    operator: Operator
    occurrence: int


class NeverTaken(Operator):
    """``if …: return`` and ``if …: raise …`` whose condition is false: a guard that nobody misses was never tested."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "if_stmt" and len(node.children) == 4 and _ends(node.children[3]):
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = Keyword("False", node.children[1].start_pos, " ")
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _ends(suite: Any) -> bool:
    """Whether a block holds one statement that leaves the function or the loop."""
    statements = [each for each in suite.children if each.type != "newline"]
    if len(statements) != 1 or statements[0].type != "simple_stmt":
        return False
    first = statements[0].children[0]
    return first.type in ENDING or (first.type == "keyword" and first.value in ("return", "raise", "continue", "break"))


def operators() -> list[Operator]:
    classes = [get_operator(name) for name in sorted(operator_names())]
    return [NeverTaken(), *(each() for each in classes if not any(given.name for given in each.arguments()))]


def places_of(module: Path, kinds: list[Operator]) -> list[Place]:
    """Every change of a module, outside of its annotations, which nothing evaluates."""
    nodes = list(ast_nodes(get_ast_from_path(module)))
    written = list(annotations(module))
    places: list[Place] = []
    for operator in kinds:
        positions = [position for node in nodes for position in operator.mutation_positions(node)]
        places += [
            Place(position, operator, number)
            for number, position in enumerate(positions)
            if not any(start <= position[0] < end for start, end in written)
        ]
    return places


def annotations(module: Path) -> Iterator[Position]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        for name in ("annotation", "returns"):
            written = getattr(node, name, None)
            if written is not None:
                yield (written.lineno, written.col_offset), (written.end_lineno, written.end_col_offset)


def draw(floor: str, count: int, seed: int) -> list[tuple[Path, Place]]:
    """So many changes: a module by its length, a place of it, then a change that fits there."""
    chance = random.Random(f"{seed} {floor}")
    modules = [each for each in modules_of(floor) if GENERATED not in each.parents]
    known: dict[Path, list[Place]] = {}
    drawn: list[tuple[Path, Place]] = []
    tries = 0
    while len(drawn) < count and (tries := tries + 1) < 50 * count:
        [module] = chance.choices(modules, [each.stat().st_size for each in modules])
        places = known.setdefault(module, places_of(module, operators()))
        left = sorted({each.position for each in places} - {place.position for path, place in drawn if path == module})
        if left:
            position = chance.choice(left)
            drawn.append((module, chance.choice([each for each in places if each.position == position])))
    return drawn


def modules_of(floor: str) -> list[Path]:
    apart = [LIBRARY / outer / inner for inner, outer in INSIDE.items() if inner != floor]
    modules = (LIBRARY / INSIDE.get(floor, "") / floor).rglob("*.py")
    return sorted(module for module in modules if not any(each in module.parents for each in apart))


def floors() -> list[str]:
    names = {path.name for path in LIBRARY.iterdir()} | INSIDE.keys()
    return sorted(name for name in names - APART if (ROOT / "tests" / name).is_dir())


class Copy:
    """A copy of the library that tests import in the place of the repository's, one module of it changed at a time."""

    def __init__(self, folder: Path, pytest: str) -> None:
        self.root, self._pytest, self._changes = folder / "store", pytest, 0
        shutil.copytree(ROOT / "store", self.root)
        self._path = os.pathsep.join(map(str, (self.root, ROOT / "cli", ROOT / "migrations")))

    def test(self, floor: str, first: Path | None, seconds: float | None, marks: str) -> int | None:
        """pytest's exit code for the tests of a folder, those named like a module first; None if they took longer."""
        folder = ROOT / "tests" / floor
        named = sorted(folder.rglob(f"test_{first.stem}*.py")) if first is not None else []
        command = [self._pytest, "-x", "-q", "-p", "no:cacheprovider", "-m", marks, *map(str, named), str(folder)]
        environment = os.environ | {"PYTHONPATH": self._path}
        try:
            return subprocess.run(command, cwd=ROOT, env=environment, timeout=seconds, capture_output=True).returncode
        except subprocess.TimeoutExpired:
            return None

    def change(self, module: Path, text: str) -> None:
        """Write a module. Each has a time of its own: Python tells compiled code by seconds and sizes."""
        path = self.root / module.relative_to(ROOT / "store")
        path.write_text(text, "utf-8")
        self._changes += 1
        when = time.time() - 10**6 + self._changes
        os.utime(path, (when, when))


def try_floor(copy: Copy, floor: str, count: int, seed: int) -> tuple[int, int]:
    """How many changes of a floor were noticed, and how many were tried."""
    limits: dict[str, float | None] = {}
    for marks in (QUICK, SLOW):
        started = time.monotonic()
        if copy.test(floor, None, None, marks) not in (0, NOTHING_RUN):
            print(f"{floor}: its tests fail without a change", flush=True)
            return 0, 0
        limits[marks] = LEAST_SECONDS + TIMES * (time.monotonic() - started)
    noticed = tried = 0
    for module, place in draw(floor, count, seed):
        original = module.read_text("utf-8")
        mutated = mutate(original, place)
        if mutated is None or mutated == original:
            continue
        copy.change(module, mutated)
        how = noticing(copy, floor, module, limits)
        copy.change(module, original)
        tried += 1
        noticed += bool(how)
        show(module, place, how, original, mutated)
    return noticed, tried


def mutate(code: str, place: Place) -> str | None:
    """The code with one change; None where Cosmic Ray cannot make it: it replaces no dotted name behind ``except``."""
    try:
        return mutate_code(code, place.operator, place.occurrence)
    except AttributeError:
        return None


def noticing(copy: Copy, floor: str, module: Path, limits: dict[str, float | None]) -> str:
    """Which tests noticed a change, and how; empty if none did."""
    for marks, seconds in limits.items():
        code = copy.test(floor, module, seconds, marks)
        if code not in (0, NOTHING_RUN):
            return "too slow" if code is None else "noticed" if marks == QUICK else "by slow"
    return ""


def show(module: Path, place: Place, how: str, original: str, mutated: str) -> None:
    kind = type(place.operator).__name__
    print(f"{how or 'SURVIVED':8} {module.relative_to(LIBRARY)}:{place.position[0][0]} {kind}", flush=True)
    if not how:
        lines = difflib.unified_diff(original.splitlines(), mutated.splitlines(), lineterm="", n=0)
        print("\n".join(f"    {line}" for line in list(lines)[3:]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether tests notice that the code was changed.")
    parser.add_argument("--pytest", required=True)
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("floors", nargs="*", default=floors())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), given.pytest)
        shares = [(floor, *try_floor(copy, floor, given.places, given.seed)) for floor in given.floors]
    for floor, noticed, tried in [*shares, ("all", *(sum(each[at] for each in shares) for at in (1, 2)))]:
        print(f"{floor:12} noticed {noticed} of {tried}" + (f" = {noticed / tried:.0%}" if tried else ""))
    return 0 if any(tried for _, _, tried in shares) else 1


if __name__ == "__main__":
    sys.exit(main())
