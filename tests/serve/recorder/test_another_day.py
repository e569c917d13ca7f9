"""A session that goes on the next day: Claude Code and Gemini CLI write the date before the first words of a person,
and their list begins with another message then."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Store
from headish.values.results.calls import PrefixBreak
from support.passed import assistant
from support.recorded import LANE, Talk, recorder_of, texts

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def first(day: str, *said: Any) -> dict[str, Any]:
    """The first message of Claude Code 2.1.197."""
    reminder = f"<system-reminder>\n# currentDate\nToday's date is {day}.\n</system-reminder>\n\n"
    parts = [{"type": "text", "text": each} if isinstance(each, str) else each for each in (reminder, *said)]
    return {"role": "user", "content": parts}


def begun(store: Store, *said: Any) -> Talk:
    """A talk of two exchanges on Monday."""
    talk = Talk(store)
    talk.messages = [first("Monday", *(said or ["Hi"]))]
    talk.send({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, "Hello")
    talk.messages[-1]["content"].pop(0)  # Claude Code leaves out old reasoning
    talk.say("and")
    return talk


def is_one_thread(store: Store) -> bool:
    return len(store.heads()) == 1


@pytest.mark.parametrize("restarts", [False, True])
def test_a_session_goes_on_in_the_same_thread_on_the_next_days(store: Store, restarts: bool) -> None:
    talk = begun(store, "Hi", PICTURE)
    for day in ("Tuesday", "Wednesday", "Monday"):
        talk.recorder = recorder_of(store) if restarts else talk.recorder
        talk.messages[0] = first(day, "Hi", PICTURE)
        for text in (f"On {day}", "so"):
            assert talk.say(text).name == LANE
        window = store.resolve(LANE)
        assert f"is {day}." in str(window.messages[1].content)
    assert is_one_thread(store)
    answers = [turn for turn in store.log(LANE) if turn.meta.role == "assistant"]
    assert len(answers) == 8
    assert all(turn.meta.reply for turn in answers), "each is the answer that came, and not a copy"
    talk.check_bodies()
    assert store.verify().problems == ()


def test_only_the_date_and_what_is_new_are_stored(store: Store) -> None:
    talk = begun(store)
    talk.messages[0] = first("Tuesday", "Hi")
    call = talk.say("so").call
    facts = store.calls.get(call.id).facts
    assert facts.added == 2
    assert isinstance(facts.broke, PrefixBreak)
    assert (facts.broke.what, facts.broke.index) == ("message", 1)


def test_a_first_question_that_was_edited_on_the_next_day_is_not_the_same(store: Store) -> None:
    talk = begun(store)
    talk.messages[0] = first("Tuesday", "Hi", "there")
    assert talk.say("so").name == LANE
    assert not is_one_thread(store)
    talk.check_bodies()


def test_a_first_question_that_is_asked_again_on_the_next_day_is_another_version(store: Store) -> None:
    talk = begun(store)
    talk.messages = [first("Tuesday", "Hi")]
    assert talk.send("Hello again").name == LANE
    assert not is_one_thread(store)
    assert texts(store, LANE)[-1] == "Hello again"
    talk.check_bodies()


@pytest.mark.parametrize("restarts", [False, True])
def test_a_rewound_session_branches_where_it_was_rewound_to(store: Store, restarts: bool) -> None:
    talk = begun(store)
    for text in ("so", "Edited"):
        talk.recorder = recorder_of(store) if restarts else talk.recorder
        talk.messages = [first("Tuesday", "Hi"), assistant("Hello")]
        talk.say(text)
    assert texts(store, LANE)[-2:] == ["Edited", "On Edited"]
    assert texts(store, LANE)[2] == "Hello"
    said = [store.text(turn.id) for turn in store.turns()]
    assert said.count("Hello") == 1
    talk.check_bodies()
    assert store.verify().problems == ()


@pytest.mark.parametrize("restarts", [False, True])
def test_words_that_a_person_replaced_in_the_history_are_still_known(store: Store, restarts: bool) -> None:
    """The client does not know of it, and sends what it has said."""
    talk = begun(store)
    question = next(turn for turn in store.thread(LANE) if store.text(turn.id).endswith("Hi"))
    store.replace(question.id, "Nobody said this", continues=LANE)
    talk.recorder = recorder_of(store) if restarts else talk.recorder
    before = len(list(store.turns()))
    talk.say("so")
    assert len(list(store.turns())) == before + 2
    talk.check_bodies()


@pytest.mark.parametrize("restarts", [False, True])
def test_a_first_question_that_was_erased_is_told_anew(store: Store, restarts: bool) -> None:
    talk = begun(store)
    question = next(turn for turn in store.thread(LANE) if store.text(turn.id).endswith("Hi"))
    store.erase(question.id, reason="asked")
    talk.recorder = recorder_of(store) if restarts else talk.recorder
    talk.messages[0] = first("Tuesday", "Hi")
    talk.say("so")
    assert not is_one_thread(store)
    assert texts(store, LANE)[-1] == "On so"
    assert store.verify().problems == ()
