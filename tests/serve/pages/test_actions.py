"""Every action of the page, done in a browser by the form that a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from headish.serve.pages.changing import ACTIONS
from headish.values.ids import TurnId
from support.chrome import needs_chromedriver
from support.looking import Looking
from support.loopback import event_stream
from support.providers.answers import anthropic_text

MISSES_ENDS = """
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (kind, ...rest) {
  if (kind !== "answered") listen.call(this, kind, ...rest);
};
"""
"""A page whose stream opens only once an answer has ended is told of no end."""

pytestmark = [pytest.mark.slow, needs_chromedriver, pytest.mark.xdist_group("browser")]


def begin(looking: Looking, name: str) -> tuple[TurnId, TurnId]:
    """A conversation of a question and an answer, opened in the browser."""
    question = looking.store.add_turn("How high is Kilimanjaro?", bookmark=name).id
    answer = looking.store.add_turn("About 5,900 m.", role="assistant", continues=name).id
    looking.open(f"/c/{name}")
    return question, answer


def change(looking: Looking, turn: TurnId) -> None:
    """Go to the actions on a turn, as a person does."""
    looking.find(f"#t{turn} .doing a[data-key=f]").click()
    looking.until(lambda: looking.text("h1").startswith("Change"))


def send(looking: Looking, action: str, *, button: str = "button", **fields: str) -> None:
    """Fill in the form of an action, and send it; the page that follows is there."""
    form = f"form[action='/do/{action}']"
    before = looking.find("html")
    for name, text in fields.items():
        field = looking.find(f"{form} [name={name}]")
        if field.tag_name == "select":
            field.find_element("css selector", f"[value={text}]").click()
            continue
        field.clear()
        field.send_keys(text)
    looking.find(f"{form} {button}").click()
    looking.until(lambda: looking.driver.find_elements("css selector", "main") and looking.find("html") != before)
    assert looking.reports() == []


def test_title_tags_and_the_last_turn_of_a_name(looking: Looking) -> None:
    begin(looking, "act/describe")
    looking.find(".settings summary").click()
    looking.find("form[action='/do/describe'] [name=pinned]").click()
    send(looking, "describe", title="A mountain", tags="africa, high")
    assert looking.text("h1") == "A mountain"
    assert [each.text for each in looking.driver.find_elements("css selector", ".top .tag")] == ["africa", "high"]
    assert "Pinned" in looking.text(".top .facts")
    assert "Archived" not in looking.text(".top .facts")
    record = looking.store.conversations.get("act/describe").record
    assert (record.title, record.tags, record.pinned) == ("A mountain", ("africa", "high"), True)
    looking.find(".settings summary").click()
    send(looking, "undo")
    assert "About 5,900 m." not in looking.text("#thread")
    assert looking.store.text("act/describe") == "How high is Kilimanjaro?"


def test_a_fork_is_named_and_goes_on_from_there(looking: Looking) -> None:
    question, _ = begin(looking, "act/fork")
    change(looking, question)
    send(looking, "fork", new="act/sideways")
    assert "/c/act/sideways" in looking.driver.current_url
    looking.find("#compose textarea").send_keys("In feet?")
    looking.find("#compose button:not(.main)").click()
    looking.until(lambda: "In feet?" in looking.text("#thread"))
    assert [looking.store.text(name) for name in ("act/sideways", "act/fork")] == ["In feet?", "About 5,900 m."]


def test_an_edit_stands_beside_and_the_name_goes_along(looking: Looking) -> None:
    _, answer = begin(looking, "act/edit")
    change(looking, answer)
    assert looking.find("form[action='/do/edit'] textarea").get_attribute("value") == "About 5,900 m."
    send(looking, "edit", content="5,895 m.")
    assert "5,895 m." in looking.text("#thread")
    assert looking.text("[aria-label='Version 2 of 2']").split() == ["‹", "2/2", "›"]
    assert looking.store.text(answer) == "About 5,900 m."
    looking.find("[aria-label='Version 1 of 2']").click()
    looking.until(lambda: f"/t/{answer}" in looking.driver.current_url)
    assert "About 5,900 m." in looking.text("#thread")


def test_words_are_replaced_hidden_and_shown_again(looking: Looking) -> None:
    question, answer = begin(looking, "act/replace")
    change(looking, answer)
    send(looking, "replace", content="5,895 m, by GPS.")
    assert "5,895 m, by GPS." in looking.text("#thread")
    assert "5,900" not in looking.text("#thread")
    change(looking, question)
    send(looking, "hide", viewer="model")
    assert "The model does not see" in looking.text("#thread")
    said = [message.content[0].text for message in looking.store.resolve("act/replace").messages]  # type: ignore[union-attr]
    assert said == ["5,895 m, by GPS."]
    for turn in (answer, question):
        change(looking, turn)
        send(looking, "show")
    assert "About 5,900 m." in looking.text("#thread")
    assert "does not see" not in looking.text("#thread")


def test_another_answer_and_an_answer_to_an_edit_are_asked_for(looking: Looking) -> None:
    question, answer = begin(looking, "act/ask")
    looking.model.answer(chunks=event_stream(anthropic_text("5,895 metres.")))
    change(looking, answer)
    send(looking, "retry")
    looking.until(lambda: looking.store.text("act/ask") == "5,895 metres.")
    looking.until(lambda: "5,895 metres." in looking.text("#thread") and not looking.text(".arriving"))
    looking.model.answer(chunks=event_stream(anthropic_text("4,566 metres.")))
    change(looking, question)
    send(looking, "edit", button="[name=ask]", content="How high is Meru?")
    looking.until(lambda: looking.store.text("act/ask") == "4,566 metres.")
    looking.until(lambda: "4,566 metres." in looking.text("#thread"))
    asked = looking.store.add_turn("And Kenya?", continues="act/ask").id
    looking.model.answer(chunks=event_stream(anthropic_text("5,199 metres.")))
    looking.open("/c/act/ask")
    change(looking, asked)
    send(looking, "answer")
    looking.until(lambda: "5,199 metres." in looking.text("#thread"))


def test_an_answer_that_fails_is_not_announced_as_one(looking: Looking) -> None:
    _check_announced(looking, "told", ended="Answered, 1 word")


def test_the_end_of_an_answer_is_announced_although_no_event_told_it(looking: Looking) -> None:
    deaf = looking.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": MISSES_ENDS})
    try:
        _check_announced(looking, "missed", ended="Answered")
    finally:
        looking.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", deaf)


def _check_announced(looking: Looking, names: str, ended: str) -> None:
    half = event_stream(anthropic_text("One", " half"))
    for name, chunks, said in (("fails", half[:3], "Failed"), ("ends", half[:3] + half[4:], ended)):
        going_on = Event()
        looking.model.answer(chunks=_held_back(chunks, going_on), cut=name == "fails")
        begin(looking, f"{names}/{name}")
        looking.until_it_listens()
        looking.find("#compose textarea").send_keys("Are you sure?")
        looking.find("#compose [name=ask]").click()
        looking.until(lambda: looking.text("#polite") == "Answering")
        going_on.set()
        looking.until(lambda: looking.text("#polite") == said)  # noqa: B023 - called in this round alone


def _held_back(chunks: list[bytes], going_on: Event) -> Iterator[bytes]:
    """The last chunks only once somebody goes on."""
    yield from chunks[:2]
    going_on.wait(20)
    yield from chunks[2:]


def test_an_erasure_is_looked_at_first_and_wants_the_handle_typed(looking: Looking) -> None:
    question, _ = begin(looking, "act/erase")
    handle = looking.store.abbreviate([question])[question]
    change(looking, question)
    looking.find("a.danger").click()
    looking.until(lambda: looking.text("h1") == f"Erase {handle}")
    assert "1 turn would go" in looking.text("main")
    looking.find("main select [value=thread]").click()
    looking.find("main form.row button").click()
    looking.until(lambda: "scope=thread" in looking.driver.current_url)
    send(looking, "erase", reason="asked to", handle="nonsense")
    assert "nothing was erased" in looking.text("main").lower()
    assert looking.store.text(question) == "How high is Kilimanjaro?"
    looking.open(f"/erase/{question}")
    send(looking, "erase", reason="asked to", handle=handle)
    assert "asked to" in looking.text(f"#t{question}")
    assert "Erased on" in looking.text(f"#t{question}")
    assert "Kilimanjaro" not in looking.driver.page_source
    assert looking.store.get(question).erased is not None


def test_no_action_is_without_its_browser() -> None:
    """An action that is added wants a test here: say and stop are in test_browser, take in test_elsewhere."""
    seen = {"describe", "undo", "fork", "edit", "replace", "hide", "show", "retry", "answer", "erase"}
    assert seen | {"say", "stop", "take"} == set(ACTIONS)
