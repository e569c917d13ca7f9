"""The ways of an append and of a reply through the library stay short; ``python tests/support/walks.py`` draws them."""

from __future__ import annotations

from pathlib import Path

from support.walks import append_and_reply


def test_a_reply_of_six_events_changes_modules_no_more_than_128_times(tmp_path: Path) -> None:
    _, reply = append_and_reply(tmp_path / "walks.db")
    assert reply.switches <= 128, str(reply)
    assert reply.modules <= 42, str(reply)
    assert reply.calls <= 400, str(reply)


def test_an_append_changes_modules_no_more_than_62_times(tmp_path: Path) -> None:
    append, _ = append_and_reply(tmp_path / "walks.db")
    assert append.switches <= 62, str(append)
    assert append.modules <= 26, str(append)
    assert append.calls <= 121, str(append)
