"""A list that is sent again is recognised by its bytes, and read as if nobody had seen it before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from headish import Store
from headish.content.forms import reading
from headish.content.forms.parts import Form
from headish.errors import HeadishError
from headish.history.writing.messages import KNOWN, message_drafts
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from support.places import Place

ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "read it", "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"n": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "text"}]},
]
RESPONSES = [
    {"role": "user", "content": [{"type": "input_text", "text": "read it"}]},
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"n": 1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "text"},
]
NEUTRAL = [{"role": "user", "content": [{"type": "text", "text": "read it"}]}, {"role": "assistant", "content": "done"}]


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    KNOWN.clear()
    yield
    KNOWN.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each turn that is read by a form."""
    seen: list[str] = []
    original = reading._read

    def read(form: Form, *given: Any) -> Any:
        seen.append(form.name)
        return original(form, *given)

    monkeypatch.setattr(reading, "_read", read)
    return seen


def drafts_of(messages: Any, form: str | None = None, limit_bytes: int = PAYLOAD_LIMIT_BYTES) -> Any:
    return message_drafts(messages, form, limit_bytes, None)


class TestWhatIsKnown:
    def test_is_not_read_again_and_what_is_new_is(self, place: Place, reads: list[str]) -> None:
        store = place.open()
        for listed in (ANTHROPIC, RESPONSES):
            first = store.record(listed[:2])
            reads.clear()
            again = store.record(deepcopy(listed))
            assert (again.added, len(reads)) == (1, 1)
            assert store.log(again.tip.id)[1].id == first.tip.id

    def test_gives_the_drafts_that_reading_gives(self) -> None:
        lists: list[tuple[Any, str | None]] = [
            (NEUTRAL, None), ([*NEUTRAL, *ANTHROPIC], None), ([*NEUTRAL, *RESPONSES], None), (NEUTRAL, "chat"),
            (ANTHROPIC, "anthropic"), ({"system": "be brief", "messages": NEUTRAL}, None),
            ({"messages": NEUTRAL}, None), ({"instructions": "be brief", "input": NEUTRAL}, None), (RESPONSES, None),
        ]  # fmt: skip
        fresh = []
        for messages, form in lists:
            KNOWN.clear()
            fresh.append(drafts_of(messages, form))
        for _ in range(2):
            assert [drafts_of(messages, form) for messages, form in lists] == fresh

    def test_is_forgotten_with_an_erasure(self, place: Place) -> None:
        store = place.open()
        recorded = store.record(ANTHROPIC, bookmark="main")
        key = next(iter(KNOWN._newer))
        store.erase(recorded.tip.id, reason="asked")
        assert KNOWN.get(key) is None


class TestWhatLooksAlike:
    def test_is_told_apart_by_its_types(self) -> None:
        def called(given: Any) -> list[Any]:
            return [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"n": given}}]}
            ]

        values: list[Any] = [1, 1.0, True, "1", None, [1], {"1": 1}]
        fresh = []
        for each in values:
            KNOWN.clear()
            fresh.append(drafts_of(called(each), "anthropic"))
        assert [drafts_of(called(each), "anthropic") for each in values] == fresh
        assert len({draft.payload for [draft] in fresh}) == len(values)

    def test_is_refused_where_it_would_be_refused_unseen(self) -> None:
        good: dict[str, Any] = {"type": "text", "text": "null", "x": None, "y": "aGk="}
        drafts_of([{"role": "user", "content": [good]}], "anthropic")
        for name, bad in (("x", float("nan")), ("y", b"aGk="), ("y", "\ud800"), ("x", {1: 2}), ("x", {3})):
            entry = good | {name: bad}
            for _ in range(2):
                with pytest.raises(HeadishError):
                    drafts_of([{"role": "user", "content": [entry]}], "anthropic")

    def test_is_too_large_for_a_smaller_limit(self) -> None:
        drafts_of(ANTHROPIC)
        with pytest.raises(HeadishError, match="limit"):
            drafts_of(ANTHROPIC, limit_bytes=10)

    def test_may_be_of_any_kind_of_mapping(self) -> None:
        plain = drafts_of(NEUTRAL, "chat")
        assert drafts_of([OrderedDict(each) for each in NEUTRAL], "chat") == plain


class TestOptionsOfHeadish:
    def test_are_read_each_time(self, reads: list[str]) -> None:
        said = {**NEUTRAL[0], "said_at": 1_714_521_600_000}
        for each in (said, {**NEUTRAL[0], "cache": True}, {**NEUTRAL[0], "key": "k"}, {"message": NEUTRAL[0]}):
            for _ in range(2):
                reads.clear()
                drafts_of([each], "chat")
                assert reads == ["chat"], each


def test_a_process_that_recorded_goes_on_recording_where_another_wrote(place: Place) -> None:
    """What is known are drafts, not turns: whether a turn is stored is asked each time."""
    with place.open() as store:
        store.record(ANTHROPIC, bookmark="main")
    other: Store = place.open("another")
    recorded = other.record(ANTHROPIC, bookmark="main")
    assert recorded.added == len(ANTHROPIC)
    assert other.verify().problems == ()
