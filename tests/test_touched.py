"""What `make quick` runs: the tests that a change touches, a few cases of all where that cannot be told, never none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.touched import ALWAYS, EVERYTHING, FEW, SOME, changed, choose, lead_to


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository's files: two folders of the library, one test module of each, one that imports across."""
    for file, text in {
        "store/headish/history/writing/planning.py": "",
        "store/headish/rows/turns.py": "",
        "tests/history/test_planning.py": "",
        "tests/rows/test_turns.py": "from headish.rows.turns import x\n",
        "tests/store/test_store.py": "from headish.rows import blobs, turns\n",
        "tests/rows/cases/one.json": "{}",
        "docs/page.md": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("store/headish/history/writing/planning.py", {"tests/history"}),
        ("store/headish/rows/turns.py", {"tests/rows", "tests/rows/test_turns.py", "tests/store/test_store.py"}),
        ("store/headish/rows/gone.py", {"tests/rows"}),
        ("tests/rows/test_turns.py", {"tests/rows/test_turns.py"}),
        ("tests/rows/test_gone.py", set()),
        ("tests/rows/cases/one.json", {"tests/rows"}),
        ("docs/page.md", {"tests/docs"}),
        ("README.md", {"tests/docs"}),
        ("cli/headish_cli/main.py", {"tests/cli"}),
    ],
)
def test_a_file_leads_to_the_tests_of_its_folder_and_to_those_that_import_it(
    tree: Path, file: str, expected: set[str]
) -> None:
    assert lead_to(file, tree) == expected
    chosen, why = choose([file], tree)
    assert chosen[: len(FEW)] == FEW
    assert set(ALWAYS) <= set(chosen)
    assert why.startswith("of 1 changed files: ")


@pytest.mark.parametrize(
    "files",
    [
        None,
        ["pyproject.toml"],
        ["Makefile", "docs/page.md"],
        ["tests/conftest.py"],
        ["tests/support/growing.py"],
        ["store/headish/values/blocks.py"],
        ["store/headish/values/limits.py"],
        ["store/headish/nowhere/x.py"],
        ["cli/a.py", "docs/a.md", "migrations/a.py", "store/headish/rows/a.py", "store/headish/history/a.py",
         "tests/store/test_store.py"],
    ],
    ids=str,
)  # fmt: skip
def test_where_all_may_depend_on_it_a_few_cases_of_all_tests_are_run(tree: Path, files: list[str] | None) -> None:
    assert choose(files, tree)[0] == EVERYTHING


@pytest.mark.parametrize("files", [[], [""]], ids=str)
def test_where_nothing_changed_some_tests_of_each_module_are_run(tree: Path, files: list[str]) -> None:
    assert choose(files, tree)[0] == SOME


@pytest.mark.slow
def test_what_changed_is_told_against_where_the_branch_left_main(tree: Path) -> None:
    def git(*arguments: str) -> None:
        own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *own, *arguments], cwd=tree, check=True, capture_output=True)

    def files() -> list[str]:
        return [each for each in changed(tree) or [] if each]

    git("init")
    git("add", ".")
    assert changed(tree) is None
    git("commit", "-m", "a")
    assert changed(tree) == ["", ""]
    git("checkout", "-b", "side")
    (tree / "docs/page.md").write_text("committed")
    git("commit", "-a", "-m", "b")
    (tree / "docs/other.md").write_text("not added")
    (tree / "tests/rows/test_turns.py").unlink()
    assert files() == ["docs/page.md", "tests/rows/test_turns.py", "docs/other.md"]
    git("checkout", "main", "--force")
    (tree / "docs/page.md").write_text("on main")
    git("commit", "-a", "-m", "c")
    git("checkout", "side")
    assert files() == ["docs/page.md", "docs/other.md"]
