"""Calls whose conversation cannot be stored: the call is counted, its body kept for a week, within a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.gateway.spool import CallEnd, SpooledCall, SpoolFrame, SpoolKind, end
from headish.serve.recorder import recording, unread
from headish.serve.recorder.recording import CallRecorder
from headish.values.results.calls import UNREAD
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, passed, user
from support.recorded import record, recorder_of


def test_a_body_that_nobody_can_read_is_kept_for_a_week(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = recorder_of(store)
    for body in (b"\xff{", b"[1]", b'{"messages": 3}', b'{"messages": [{"role": "wizard", "content": "x"}]}'):
        call = passed("anthropic", body, headers=CLAUDE_CODE)
        record(recorder, call)
        assert store.calls.get(call.id).facts.error
        assert store.objects.get(UNREAD, call.id).data == body
    record(recorder, passed("anthropic", b"x" * 1024 * 1024 + b"x", headers=CLAUDE_CODE))
    assert len(store.objects.list(UNREAD)) == 4
    assert recorder.forget_unread() == 0
    monkeypatch.setattr(recording, "UNREAD_SECONDS", -60)
    assert (recorder.forget_unread(), store.objects.list(UNREAD)) == (4, [])
    assert store.stats().turns == 0


def test_a_call_whose_body_was_cut_off_says_what_cut_it_off(store: Store) -> None:
    recorder = recorder_of(store)
    call = SpooledCall("cut", passed("anthropic", b"").begin)
    call.take(SpoolFrame(SpoolKind.REQUEST, "cut", b'{"mess'))
    call.take(end("cut", CallEnd(outcome="unreachable", at=call.begin.at, error="Connection refused")))
    record(recorder, call)
    facts = store.calls.get("cut").facts
    assert (facts.outcome, facts.error) == ("unreachable", "Connection refused")
    assert store.objects.get(UNREAD, "cut").data == b'{"mess'


def test_of_the_bodies_that_nobody_can_read_a_space_keeps_so_many_bytes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread, "UNREAD_TOTAL_BYTES", 3 * 2000)
    calls = []
    recorders = [recorder_of(store) for _ in range(3)]
    for round, recorder in enumerate(recorders):  # none knows what the one before kept
        for size in (2000, 1500 + round, 1):
            calls.append(passed("anthropic", b"{" * size, headers=CLAUDE_CODE))
            record(recorder, calls[-1])
    kept = [each.key for each in store.objects.list(UNREAD)]
    assert kept == [call.id for call in calls[-4:]], "2000, 1502, and what counts as 1024, twice"
    recorders[-1].record(calls[-1])  # a replay
    assert [each.key for each in store.objects.list(UNREAD)] == kept
    assert recorders[-1].forget_unread() == 0
    assert len(store.calls.list(limit=100)) == 9, "the calls are counted all the same"


def test_a_body_that_somebody_else_removed_holds_up_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "UNREAD_TOTAL_BYTES", 2 * 2000)
    recorder, calls = recorder_of(store), [passed("anthropic", b"{" * 2000, headers=CLAUDE_CODE) for _ in range(4)]
    for call in calls[:2]:
        record(recorder, call)
    store.objects.remove(UNREAD, calls[0].id)
    for call in calls[2:]:
        record(recorder, call)
    assert [each.key for each in store.objects.list(UNREAD)] == [call.id for call in calls[2:]]
    store.objects.remove(UNREAD, calls[2].id)
    monkeypatch.setattr(recording, "UNREAD_SECONDS", -60)
    recorder.forget_unread()
    assert store.objects.list(UNREAD) == []


def test_a_failure_that_nobody_foresaw_keeps_the_body_and_its_words_out_of_the_row(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise TypeError("Secret words are not a number")

    recorder = recorder_of(store)
    call = passed("anthropic", anthropic_body([user("Secret words")]), anthropic_answer("Hello"), headers=CLAUDE_CODE)
    with monkeypatch.context() as patched:
        patched.setattr(recording, "read_answer", fail)
        record(recorder, call)
    assert store.calls.get(call.id).facts.error == "a request cannot be kept: it cannot be read (TypeError) (at $)"
    assert store.objects.get(UNREAD, call.id).data == call.request
    record(recorder, passed("anthropic", anthropic_body([user("Hi")]), anthropic_answer("Hello"), headers=CLAUDE_CODE))
    assert store.stats().turns == 3


def test_a_space_whose_bodies_cannot_be_forgotten_now_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "UNREAD_SECONDS", -60)
    with Store.open(tmp_path / "two.db", space="ill") as ill, Store.open(tmp_path / "two.db", space="well") as well:
        recorder = CallRecorder({"ill": ill, "well": well}.__getitem__)
        for space in ("ill", "well"):
            record(recorder, passed("anthropic", b"{", headers=CLAUDE_CODE, space=space))
        ill.close()
        assert recorder.forget_unread() == 1, "a store that is closed can remove nothing"
        assert well.objects.list(UNREAD) == []
