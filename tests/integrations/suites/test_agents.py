"""The Agents SDK's own tests, as they come with its source, on our session: see ``support/suites/agents.py``."""

from __future__ import annotations

from pathlib import Path

from support.suites.running import failed, judged_by, rows, run, source_of

pytestmark = judged_by(
    "openai-agents", "agents", "agents", "pytest_asyncio", "pytest_mock", "inline_snapshot", "cryptography", "greenlet"
)

FILES = (
    "tests/memory/test_session.py",
    "tests/memory/test_session_limit.py",
    "tests/memory/test_compaction_suffix.py",
    "tests/memory/test_compaction_model_visibility.py",
    "tests/memory/test_openai_responses_compaction_session.py",
    "tests/extensions/memory/test_encrypt_session.py",
    "tests/sandbox/test_memory.py",
    "tests/test_agent_runner.py",
    "tests/test_agent_runner_streamed.py",
    "tests/test_max_turns.py",
    "tests/test_native_tool_failure_history.py",
    "tests/test_programmatic_tool_calling.py",
    "tests/test_run_impl_resume_paths.py",
    "tests/test_soft_cancel.py",
    "tests/test_tool_batch_failure_history.py",
    "tests/test_tool_failure_boundaries.py",
)

SESSION = "tests/memory/test_session.py::test_sqlite_session_"
COMPACTING = "tests/memory/test_openai_responses_compaction_session.py::TestOpenAIResponsesCompactionSession::test_"
SUFFIX = "tests/memory/test_compaction_suffix.py::test_"
ENCRYPTED = "tests/extensions/memory/test_encrypt_session.py::test_encrypted_"

LOOK_INSIDE = {
    # Its connections and the lock of its file, which ours has none of.
    f"{SESSION}close_closes_worker_thread_connections",
    f"{SESSION}reaps_connections_from_exited_worker_threads",
    f"{SESSION}closes_retired_connections_before_the_next_allocation",
    f"{SESSION}keeps_connections_of_live_worker_threads",
    f"{SESSION}file_lock_is_shared_across_instances",
    f"{SESSION}rollback_failure_evicts_connection",
    f"{SESSION}close_retries_quarantined_connection",
    f"{SESSION}post_commit_cancellation_propagates_after_known_outcome",
    # They write broken rows through its connection.
    f"{SESSION}pop_item_skips_corrupt_most_recent",
    f"{SESSION}pop_item_returns_none_after_dropping_only_corrupt_rows",
    f"{SESSION}get_items_limit_skips_corrupt_newest_rows",
    f"{SESSION}get_items_session_settings_limit_skips_corrupt_rows",
    # They make a trigger on its tables, or read them, so that a statement fails.
    f"{SESSION}failed_add_items_releases_write_lock",
    f"{SESSION}failed_clear_session_rolls_back",
    f"{SESSION}failed_pop_item_releases_write_lock",
    f"{SUFFIX}suffix_transaction_rolls_back_failed_insert",
    f"{SUFFIX}failed_encrypted_suffix_transaction_preserves_original_tokens",
    f"{ENCRYPTED}pop_wrong_key_preserves_row_identity",
    # The error names its class: "SQLiteSession is closed".
    f"{SESSION}closed_rejects_empty_add_items",
    # They put a method of theirs in the place of a private one of its own, to stop there or to fail.
    f"{SUFFIX}cancelled_suffix_transaction_settles_before_newer_append",
    f"{COMPACTING}settled_pop_failure_invalidates_response_chain",
    f"{COMPACTING}settled_clear_failure_invalidates_response_chain",
    f"{ENCRYPTED}pop_authentication_is_atomic_with_concurrent_mutations",
    "tests/test_run_impl_resume_paths.py::test_handoff_resume_after_cancelled_compaction_commits",
}


def test_every_test_that_does_not_look_into_their_sqlite_session(tmp_path: Path) -> None:
    ended = run("agents", source_of("openai-agents"), tmp_path / "report.json", *FILES)
    assert failed(ended) == LOOK_INSIDE
    told = Path(__file__).with_name("agents.md").read_text()
    assert [row for row in rows(ended, FILES) if row not in told] == []
