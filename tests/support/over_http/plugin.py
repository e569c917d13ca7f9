"""A plugin of pytest: the store's own tests run on stores over HTTP.

    PYTHONPATH=tests pytest -p support.over_http.plugin tests/history

What the tests count, the statements of this process, a server's are among: such a test is skipped. ``APART`` names the
others that an API does not pass, each with the reason.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support import insides

os.environ["HEADISH_TEST_PLACES"] = "http"
_ended: Counter[str] = Counter()
_failed: list[str] = []

_WINDOW = "a window's to_dict says no ids, attributes and notes of its messages"
_SOURCES = "a request's to_dict says neither its sources nor the pointer that chose it"
_USAGE = "a usage's to_dict says 0 of a kind that the provider did not name"
_WORDS = "the schema refuses it, in its own words"
_BODY = "a body of JSON has at most 1 MB"
_KEPT = "JSON that cannot be kept is refused as a body; a reply can be sent as its text"
_TEXT = "a query is text, JSON has a time as text and bytes in Base64"
_NULL = "null is what is left out"
_WHOLE = "what an iterator gives is read before it is sent"
_OPENS = "the test opens the database itself"
_COPIES = "a store is copied into a store of the same process"
_CLOCK = "the test sets the clock of this process, which is the server's, too"
APART = {
    "test_a_mark_cannot_be_stored": "a mark of an erasure has no JSON of its own",
    "test_a_transcript_is_refused_unless_it_is_given_up": "the note of what was left out is told to a function",
    "test_a_window_leaves_it_out_with_a_note": _WINDOW,
    "test_a_window_leaves_out_a_call_that_was_cut_off_and_says_so": _WINDOW,
    "test_a_message_knows_its_turn_and_its_attributes": _WINDOW,
    "test_every_turn_of_the_walk_with_its_message": _WINDOW,
    "test_large_payloads_and_documents_too": _WINDOW,
    "test_what_a_turn_keeps_beside_its_message_is_there": _WINDOW,
    "test_the_messages_of_a_window_are_recognised": _WINDOW,
    "test_a_result_names_its_own_turn": _SOURCES,
    "test_an_option_that_is_switched_off_and_set_again_names_the_last_turn": _SOURCES,
    "test_each_message_and_option_names_its_turns": _SOURCES,
    "test_messages_that_are_joined_name_all_their_turns": _SOURCES,
    "test_several_heads_are_asked_from_as_if_one_turn_continued_them": _SOURCES,
    "test_a_key_with_a_dot_is_no_path": _SOURCES,
    "test_a_value_that_replaces_a_record_leaves_its_namesake_alone": _SOURCES,
    "test_another_pointer_can_be_named": _SOURCES,
    "test_the_threads_pointer_says_it": _SOURCES,
    "test_an_answer_to_a_request_continues_the_turns_that_were_asked_from": _SOURCES,
    "test_a_tool_that_went_out_under_another_name_comes_back_under_its_own": _SOURCES,
    "test_a_bookmark_that_came_back_moves_again": _SOURCES,
    "test_a_document_continues_and_is_continued": _WINDOW,
    "test_every_kind_of_token_on_the_way_to_a_turn": _USAGE,
    "test_one_that_was_cut_off_counts_as_far_as_was_said": _USAGE,
    "test_a_time_that_no_provider_has_is_refused": _WORDS,
    "test_records_have_a_limit_of_their_own": _BODY,
    "test_details_too_large_to_be_kept_do_not_cost_the_answer": _BODY,
    "test_a_turn_of_more_words_than_an_entry_takes_is_found": _BODY,
    "test_a_block_of_the_providers_nested_too_deep_is_kept_as_far_as_it_goes": _KEPT,
    "test_arguments_nested_too_deep_are_kept_as_their_text": _KEPT,
    "test_halves_of_a_character_in_two_events_are_joined_again": _KEPT,
    "test_what_cannot_be_one_is_refused[http-5]": _TEXT,
    "test_what_cannot_be_one_is_refused[http-a]": _TEXT,
    "test_what_cannot_be_one_is_refused[http-\\ud800]": _KEPT,
    "test_what_is_no_time_is_refused": _TEXT,
    "test_what_cannot_be_said_is_refused[http-{'pinned': None}": _NULL,
    "test_commit_order_is_not_the_order_of_ids": _CLOCK,
    "test_a_batch_has_a_bounded_number_of_turns": _WHOLE,
    "test_a_batch_has_a_bounded_number_of_bytes": _WHOLE,
    "test_one_batch_is_all_or_nothing[http-5-InvalidContent]": _WORDS,
    "test_what_is_no_list_of_messages_is_refused_whole[http-bytes]": _TEXT,
    "test_text_that_is_no_answer_is_refused_and_nothing_is_stored[http-\\xff": _TEXT,
    "test_each_ancestor_once_parents_first_as_the_definition_says": _WINDOW,
    "test_several_heads_resolve_as_if_one_turn_continued_them_all": _WINDOW,
    "test_an_erased_summary_goes_on_hiding_what_it_covers": _WINDOW,
    "test_what_is_hidden_and_erased_is_not_even_told": _WINDOW,
    "test_threads_arrive_with_all_that_belongs_to_them": _COPIES,
    "test_names_stay_in_the_first_one": _COPIES,
    "test_a_closed_store_takes_nothing": _COPIES,
    "test_threads_that_search_beside_one_that_appends_find_what_was_stored": _OPENS,
    **{
        f"test_what_is_no_document_name_or_media_type_is_refused[http-{part}-{what}]": _TEXT
        for part in ("name", "type")
        for what in ("number", "half")
    },
}


@contextmanager
def _not_counted(*_: Any) -> Iterator[Any]:
    pytest.skip("it counts the statements of this process, and the server's are among them")
    yield


insides.counted_statements = insides.counted_rows = _not_counted  # type: ignore[assignment]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    served = [item for item in items if "http" in getattr(getattr(item, "callspec", None), "params", {}).values()]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(served)])
    items[:] = served
    for item in items:
        name = getattr(item, "originalname", "")
        for apart, reason in APART.items():
            if apart == name or ("[" in apart and item.name.startswith(apart)):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _ended[report.outcome] += 1
    if report.outcome == "failed":
        _failed.append(f"{report.nodeid}: {str(report.longrepr)[-500:]}")


def pytest_sessionfinish() -> None:
    """``HEADISH_SUITE_REPORT`` is where the counts and the failures are written."""
    if where := os.environ.get("HEADISH_SUITE_REPORT"):
        Path(where).write_text(json.dumps({**_ended, "failures": _failed}))
