"""LangChain's own tests of chat histories, on ours: see ``support/suites/langchain.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.suites.running import failed, judged_by, rows, run, source_of

NEEDED = (
    "langchain_core",
    "langchain_community",
    "aiosqlite",
    "blockbuster",
    "greenlet",
    "pytest_asyncio",
    "pytest_mock",
)

pytestmark = judged_by("langchain-core", "langchain", *NEEDED)

PASSED = Path(__file__).with_name("langchain.md")
HISTORY = "tests/unit_tests/runnables/test_history.py"
CORE = ("tests/unit_tests/chat_history/test_chat_history.py", HISTORY)
COMMUNITY = ("tests/unit_tests/chat_message_histories/test_sql.py",)

OF_THEIRS = {
    # The docstring of their class says "deprecated".
    "tests/unit_tests/chat_history/test_chat_history.py::test_chat_history_deprecated",
}

OF_TABLES = {
    # The columns of a table of SQLAlchemy's, which ours does not take.
    "tests/unit_tests/chat_message_histories/test_sql.py::test_model_no_session_id_field_error",
}


@pytest.mark.parametrize(
    ("package", "files", "known"), [("langchain-core", CORE, OF_THEIRS), ("langchain-community", COMMUNITY, OF_TABLES)]
)
def test_every_test_of_a_history(tmp_path: Path, package: str, files: tuple[str, ...], known: set[str]) -> None:
    ended = run("langchain", source_of(package), tmp_path / "report.json", *files)
    assert failed(ended) == known
    told = PASSED.read_text()
    assert [row for row in rows(ended, files) if row not in told] == []
