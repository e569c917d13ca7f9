"""What a page is told of an answer that arrives: pieces that make up what a page shows of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.aio import AsyncStore
from headish.gateway.spool.arriving import PARTS_LIMIT, ArrivingCall, ArrivingPiece
from headish.renderings.marking import show_unseen
from headish.serve.pages.arriving import TAIL_CHARACTERS, TITLE_CHARACTERS, Arriving
from headish.serve.pages.hub import not_stored
from headish.serve.recorder.recording import CallRecorder
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, passed, user

SAID = (
    "a",
    "One two ",
    "\n",
    "\u202e",
    "\u200b",
    "\U0001f469\u200d\U0001f680",
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\u0645\u06cc\u200c\u062e",
    "\u200d",
    "\U000e0041",
    "\x00\x1b[2J",
    "天気",
    "<script>",
)


class Browser:
    """What live.mjs keeps of the events. It counts by UTF-16."""

    def __init__(self) -> None:
        self.parts: dict[int, bytes] = {}

    def hear(self, told: dict[str, Any]) -> None:
        before = self.parts.get(told["part"], b"")
        assert told["at"] * 2 <= len(before), "nothing is left out"
        self.parts[told["part"]] = before[: told["at"] * 2] + told["text"].encode("utf-16-le")

    def text(self, part: int = 0) -> str:
        return self.parts.get(part, b"").decode("utf-16-le")


@given(st.lists(st.sampled_from(SAID)).map("".join), st.data())
def test_wherever_a_text_is_cut_a_page_shows_what_it_shows_of_the_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    answer, early, late = Arriving("default", "1" * 25), Browser(), Browser()
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        answer.add(ArrivingPiece(text=text[start:stop]))
        if data.draw(st.booleans()):
            for told in answer.tell():
                early.hear(told)
    for told in answer.tell():
        early.hear(told)
    assert list(answer.tell()) == []
    for told in answer.tell_all():
        late.hear(told)
    assert early.text() == late.text() == show_unseen(text)


@pytest.mark.parametrize("piece", ["天気です", "\u200d", "\u202e", "\U000e0041", "\U0001f469\u200d"])
def test_text_without_a_letter_of_ascii_is_not_told_again_with_each_piece(piece: str) -> None:
    answer, pieces, told = Arriving("default", "1" * 25), 2000, 0
    for _ in range(pieces):
        answer.add(ArrivingPiece(text=piece))
        told += sum(len(each["text"]) for each in answer.tell())
    shown = len(next(answer.tell_all())["text"])
    assert told <= shown + pieces * len(show_unseen(piece)) * (TAIL_CHARACTERS + 1)


def test_parts_have_titles_and_stand_in_their_order() -> None:
    answer = Arriving("default", "1" * 25)
    answer.add(ArrivingPiece(2, "call", "Wri\u202ete", "{"))
    answer.add(ArrivingPiece(0, "thinking", text="Hm."))
    answer.add(ArrivingPiece(1, text="One two."))
    answer.add(ArrivingPiece(2, "call", text="}"))
    told = [(each["part"], each["kind"], each["title"], each["text"]) for each in answer.tell()]
    assert told == [
        (0, "thinking", "Reasoning", "Hm."),
        (1, "text", "", "One two."),
        (2, "call", "Call of Wri\u2039U+202E\u203ate", "{}"),
    ]
    assert answer.words == 2


def test_no_more_parts_are_shown_than_a_page_can_take() -> None:
    answer = Arriving("default", "1" * 25)
    for part in range(PARTS_LIMIT + 10):
        answer.add(ArrivingPiece(part, "call", "x" * 5000))
    assert len(answer.parts) == PARTS_LIMIT
    assert max(len(part.title) for part in answer.parts) == TITLE_CHARACTERS


def test_what_is_stored_by_now_is_not_shown_as_arriving(tmp_path: Path) -> None:
    """The hub hears of it a moment later, and a page drawn between would show it twice."""
    with Store.open(tmp_path / "talk.db") as store:
        stored = passed("anthropic", anthropic_body([user("Hi")]), anthropic_answer("Hello"), headers=CLAUDE_CODE)
        CallRecorder(lambda _space: store).record(stored)
    calls = [ArrivingCall(id, "default", None, "test") for id in (stored.id, "9" * 25)]

    async def shown() -> list[str]:
        async with AsyncStore.open(tmp_path / "talk.db") as store:
            answers = [Arriving("default", call.continues, call) for call in calls]
            return [each.id for each in await not_stored(store, answers)]

    assert asyncio.run(shown()) == ["9" * 25]
