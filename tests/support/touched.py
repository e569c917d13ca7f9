"""Which tests a change touches: what `make quick` runs.

    python tests/support/touched.py [--all]

prints arguments for pytest, and on stderr what it chose and why. A module of the library leads to the tests of its
folders and to the test modules that import it. Where all may depend on what changed, it chooses a case of each test;
where nothing changed, three tests of each module.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = "store/headish/"
EVERYTHING = ["--few", "1", "--ignore", "tests/integrations", "tests"]
"""One case of each test. Frameworks take seconds to import: their tests are left out."""
SOME = ["--of-a-module", "3", *EVERYTHING]
FEW = ["--few", "6"]
ALWAYS = ["tests/test_habits.py"]
FOLDERS = {"cli/": "tests/cli", "docs/": "tests/docs", "migrations/": "tests/migrations"}
GROUND = ("values", "errors")
"""Folders of the library that all others stand on."""
MANY = 5
"""A change that touches more folders gets a case of each test."""


def changed(root: Path = ROOT) -> list[str] | None:
    """The files that differ from where this branch left main, and new ones; ``None`` where git cannot say."""
    for main in ("origin/main", "main"):
        base = _git(root, "merge-base", "HEAD", main)
        if base is not None:
            names = _git(root, "diff", "--name-only", "--no-renames", base.strip()) or ""
            return [*names.split("\n"), *(_git(root, "ls-files", "--others", "--exclude-standard") or "").split("\n")]
    return None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def choose(files: Iterable[str] | None, root: Path = ROOT) -> tuple[list[str], str]:
    """pytest's arguments, and why these."""
    if files is None:
        return EVERYTHING, "a case of each test, as git does not say what changed"
    named = sorted({file for file in files if file})
    if not named:
        return SOME, "some tests of each module, as nothing changed since main"
    touched: set[str] = set()
    for file in named:
        tests = lead_to(file, root)
        if tests is None:
            return EVERYTHING, f"a case of each test, as any may depend on {file}"
        touched |= tests
    if len({Path(each).parts[1] for each in touched}) > MANY:
        return EVERYTHING, "a case of each test, as the change touches many folders"
    whole = {each for each in touched if not each.endswith(".py")}
    modules = {each for each in touched - whole if not any(each.startswith(f"{folder}/") for folder in whole)}
    chosen = sorted(whole | modules | set(ALWAYS))
    return [*FEW, *chosen], f"of {len(named)} changed files: {' '.join(chosen)}"


def lead_to(file: str, root: Path = ROOT) -> set[str] | None:
    """The folders and modules that test a file; ``None`` if all do."""
    if file.startswith("tests/"):
        return beside(file, root)
    if file.startswith(LIBRARY):
        folders = Path(file.removeprefix(LIBRARY)).parts[:-1]
        chapters = {f"tests/{each}" for each in folders if (root / "tests" / each).is_dir()}
        return chapters | importers(file, root) if chapters and folders[0] not in GROUND else None
    for beginning, folder in FOLDERS.items():
        if file.startswith(beginning):
            return {folder}
    return {"tests/docs"} if file.endswith(".md") else None


def beside(file: str, root: Path) -> set[str] | None:
    path = Path(file)
    if path.parts[1] == "support" or (path.name == "conftest.py" and len(path.parts) == 2):
        return None
    if path.name.startswith("test_") and path.suffix == ".py":
        return {file} if (root / file).exists() else set()
    return {str(Path(*path.parts[:2]))} if (root / path.parts[0] / path.parts[1]).is_dir() else set()


def importers(file: str, root: Path) -> set[str]:
    """The test modules that import a module of the library by its own name."""
    module = file.removeprefix("store/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    above, _, name = module.rpartition(".")
    own = re.compile(
        rf"^\s*(?:from|import) {re.escape(module)}\s|^\s*from {re.escape(above)} import .*\b{re.escape(name)}\b", re.M
    )
    return {
        str(path.relative_to(root))
        for path in (root / "tests").rglob("test_*.py")
        if own.search(path.read_text("utf-8"))
    }


if __name__ == "__main__":
    arguments, why = (EVERYTHING, "a case of each test") if "--all" in sys.argv else choose(changed())
    print(f"tests: {why}", file=sys.stderr)
    print(*arguments)
