"""An answer that passes the gateway is read on the page while it arrives, by those alone who may."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from headish import Store
from headish.gateway.passing.access import ACCESS_FILE
from headish.gateway.spool.arriving import ARRIVING_FOLDER
from headish.serve.access.logins import Logins
from support.chrome import driving, needs_chromedriver
from support.command import Command
from support.hostile import texts as hostile_texts
from support.looking import WATCH
from support.loopback import Loopback
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, user
from support.served import PATIENCE_SECONDS, Served, served
from support.upstream import LAST, Asked, Step, Upstream, chunked, head

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
HEADERS = {**CLAUDE_CODE, "content-type": "application/json"}
HEARD = """
window.heard = [];
window.emptied = 0;
addEventListener("DOMContentLoaded", () => {
  const polite = document.getElementById("polite");
  new MutationObserver(() => window.heard.push(polite.textContent)).observe(polite, {childList: true});
  const shown = () => document.querySelectorAll("#thread article.assistant").length;
  let most = shown();
  // An answer that is shown never goes away before its turn is there.
  new MutationObserver(() => { if (shown() < most) window.emptied++; most = Math.max(most, shown()); })
    .observe(document.getElementById("main"), {childList: true, subtree: true});
});
"""
TEXT = "return document.querySelector(arguments[0])?.innerText ?? ''"
PLACE = "return [...document.querySelectorAll('#thread article.assistant .text')].at(-1).getBoundingClientRect().top"
KEY = "sk-ant-api03-abcdefghijklmnop0123456789"


FOLDED = """
return [...document.querySelectorAll("article.assistant.arriving details")].map(
  (each) => [each.firstElementChild.textContent, each.lastElementChild.textContent, each.open]);
"""


class SlowAnswers:
    """An upstream that answers the first request at once, and each later one piece by piece as it is let go on."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.let = 0
        self.begins_at_once = True

    def __call__(self, asked: Asked) -> Iterator[Step]:
        yield head(200, "text/event-stream")
        if self.begins_at_once and len(json.loads(asked.body)["messages"]) == 1:
            yield from chunked([anthropic_answer("At once.")])
        else:
            for number, piece in enumerate(self.pieces):
                while number >= self.let:
                    yield 0.02
                yield from chunked([piece])
        yield LAST

    def say(self, *texts: str) -> None:
        """The pieces of the next answers, cut between the texts."""
        whole = anthropic_answer("".join(texts))
        delta = json.loads(next(line[6:] for line in whole.split(b"\n") if b"text_delta" in line))
        before, _, after = whole.partition(b"event: content_block_delta")
        events = []
        for text in texts:
            delta["delta"]["text"] = text
            events.append(b"event: content_block_delta\ndata: " + json.dumps(delta).encode() + b"\n\n")
        rest = after.partition(b"\n\n")[2]
        self.pieces, self.let = [before + events[0], *events[1:], rest], 0


@pytest.fixture
def answers() -> SlowAnswers:
    return SlowAnswers()


@pytest.fixture
def server(tmp_path: Path, answers: SlowAnswers) -> Iterator[Served]:
    with Upstream(answers) as upstream, served(tmp_path, upstream) as made:
        yield made


def ask(server: Served, messages: list[Any], **headers: str) -> threading.Thread:
    """Send a request beside what the test goes on with."""
    body = json.dumps(anthropic_body(messages)).encode()
    thread = threading.Thread(target=server.ask, args=("/anthropic/v1/messages", body, {**HEADERS, **headers}))
    thread.start()
    return thread


def until(seen: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := seen()):
        assert time.monotonic() < end, "it was not seen"
        time.sleep(0.02)
    return found


def begin(server: Served, **headers: str) -> list[Any]:
    """The first exchange of a conversation, stored; and the messages of the second."""
    ask(server, [user("Hi")], **headers).join()
    until(lambda: shown_files(server) == [] and calls_in(server, headers) >= 1)
    return [user("Hi"), assistant("At once."), user("Tell me about lichens.")]


def calls_in(server: Served, headers: dict[str, str]) -> int:
    space = "default" if not headers else "team"
    with Store.open(server.database, space=space) as store:
        return len(store.calls.list())


def shown_files(server: Served) -> list[Path]:
    return list((server.spool.parent / ARRIVING_FOLDER).glob("*.jsonl"))


def login(server: Served) -> httpx.Client:
    code = Logins(server.spool.parent, time.time).make_code()
    browser = httpx.Client(timeout=60, headers={"Sec-Fetch-Site": "same-origin"})
    assert browser.get(f"{web_of(server)}/login", params={"code": code}).status_code == 200
    return browser


class Listening:
    """A reader of ``/live`` in a thread."""

    def __init__(self, client: httpx.Client, url: str) -> None:
        self.events: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, args=(client, url), daemon=True)
        self._thread.start()

    def _read(self, client: httpx.Client, url: str) -> None:
        with suppress(httpx.HTTPError), client.stream("GET", url, timeout=None) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    self.events.append(json.loads(line[6:]))

    def text(self) -> str:
        told = ""
        for each in [each for each in self.events if each["event"] == "delta"]:
            told = told[: each["at"]] + each["text"]
        return told


def web_of(server: Served) -> str:
    return server.login.partition("/login")[0]


def test_it_is_read_while_it_arrives_and_no_part_of_a_key_is(server: Served, answers: SlowAnswers) -> None:
    messages = begin(server)
    answers.say("A lichen is a fungus ", "with an alga. Use sk-ant-api03-", KEY[13:], " to ask more.")
    live = Listening(login(server), f"{web_of(server)}/live")
    until(lambda: (server.spool.parent / ARRIVING_FOLDER / "watched.json").exists())
    asking = ask(server, messages)
    answers.let = 1
    until(lambda: live.text() == "A lichen is a fungus ")
    answers.let = 2
    until(lambda: live.text() == "A lichen is a fungus with an alga. Use ")
    [path] = shown_files(server)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    page = login(server).get(f"{web_of(server)}/c/claude-code/097ac8").text
    assert "with an alga" in page
    assert "Tell me about lichens." in page
    assert "Reload the page to see more of this answer." in page
    assert "http-equiv" not in page, "what is typed without script would be lost"
    assert "Stop" not in page.partition("arriving")[2].partition("</article>")[2].partition("</article>")[0]
    killed = server.kill("recorder")
    until(lambda: server.children().get("recorder", killed) != killed)
    answers.let = 4
    until(lambda: live.text().endswith("<hidden: it looked like a key> to ask "))
    answers.let = 99
    asking.join()
    until(lambda: any(each["event"] == "answered" for each in live.events))
    until(lambda: any(each.get("kind") == "answered" for each in live.events))  # what is told of the call comes apart
    assert live.text() == "A lichen is a fungus with an alga. Use <hidden: it looked like a key> to ask more."
    assert [each["words"] for each in live.events if each["event"] == "answered"] == [18]
    kinds = [each.get("kind") for each in live.events if each["event"] == "change"]
    assert kinds.index("answering") < kinds.index("answered")
    assert shown_files(server) == []
    assert not any("sk-ant" in json.dumps(each) for each in live.events)


def test_one_that_begins_a_conversation_has_a_page_until_its_turn_has_one(server: Served, answers: SlowAnswers) -> None:
    answers.begins_at_once = False
    answers.say("A lichen is a fungus ", "with an alga.")
    mine = login(server)
    live = Listening(mine, f"{web_of(server)}/live")
    until(lambda: (server.spool.parent / ARRIVING_FOLDER / "watched.json").exists())
    asking = ask(server, [user("Lichens & <script>\u202e, and ghp_abcdefghijklmnopqrst0123?")])
    answers.let = 1
    until(lambda: live.text() == "A lichen is a fungus ")
    [told] = [each for each in live.events if each.get("kind") == "answering"]
    assert told["continues"] == []
    listed = mine.get(web_of(server)).text
    assert f'<h2 dir="auto"><a href="/arriving/{told["answer"]}">Lichens &amp; &lt;script&gt;‹U+202E›' in listed
    assert "Nothing was said here yet" not in listed
    for path in ("/?archived=1", "/?tag=x"):
        assert "/arriving/" not in mine.get(web_of(server) + path).text
    page = mine.get(f"{web_of(server)}/arriving/{told['answer']}")
    assert "A lichen is a fungus" in page.text
    assert "Lichens &amp; &lt;script&gt;‹U+202E›" in page.text
    assert "Reload the page to see more of this answer." in page.text
    assert "http-equiv" not in page.text, "what is typed into the search without script would be lost"
    for shown in (listed, page.text):
        assert '<span class="name"><bdi>claude-code/097ac8</bdi></span>' in shown
    named = mine.get(f"{web_of(server)}/c/claude-code/097ac8")
    assert (named.status_code, named.headers.get("location")) == (303, f"/arriving/{told['answer']}")
    assert mine.get(f"{web_of(server)}/c/claude-code/097ac9").status_code == 404
    assert "ghp_" not in listed + page.text
    assert mine.get(f"{web_of(server)}/arriving/{'0' * 25}").status_code == 404
    Store.open(server.database, space="team").close()
    assert mine.get(f"{web_of(server)}/arriving/{told['answer']}?space=team").status_code == 404
    assert "/arriving/" not in mine.get(f"{web_of(server)}/?space=team").text
    assert mine.get(f"{web_of(server)}/arriving/%00\u202e{'x' * 5000}").status_code in (400, 404)
    answers.let = 99
    asking.join()
    until(lambda: any(each.get("kind") == "answered" for each in live.events))
    assert "/arriving/" not in mine.get(web_of(server)).text
    moved = mine.get(f"{web_of(server)}/arriving/{told['answer']}")
    assert moved.status_code == 303
    for place in (moved.headers["location"], "/c/claude-code/097ac8"):
        assert "A lichen is a fungus with an alga." in mine.get(web_of(server) + place).text


def test_nothing_is_written_down_while_nobody_watches(server: Served, answers: SlowAnswers) -> None:
    messages = begin(server)
    answers.say("One ", "two.")
    asking = ask(server, messages)
    answers.let = 1
    time.sleep(1)
    assert shown_files(server) == []
    live = Listening(login(server), f"{web_of(server)}/live")
    until(lambda: live.events or (server.spool.parent / ARRIVING_FOLDER / "watched.json").exists())
    answers.let = 99
    asking.join()
    until(lambda: calls_in(server, {}) == 2)
    until(lambda: shown_files(server) == [])


def test_another_space_hears_nothing_of_it(server: Served, answers: SlowAnswers) -> None:
    Store.open(server.database, space="team").close()
    command = Command(str(server.database))
    made = {
        right: command.run("--space", "team", "token", "add", right, "--right", right).out.strip()
        for right in ("gateway", "read")
    }
    access = server.spool.parent / ACCESS_FILE
    until(lambda: access.exists() and '"gateway"' in access.read_text("utf-8"))
    messages = begin(server, **{"x-headish-token": made["gateway"]})
    answers.say("Said to ", "the team.")
    mine = Listening(login(server), f"{web_of(server)}/live")
    reader = httpx.Client(timeout=60, headers={"Authorization": f"Bearer {made['read']}"})
    theirs = Listening(reader, f"{web_of(server)}/live")
    time.sleep(1)
    asking = ask(server, messages, **{"x-headish-token": made["gateway"]})
    answers.let = 1
    until(lambda: theirs.text() == "Said to ")
    answers.let = 99
    asking.join()
    until(lambda: any(each["event"] == "answered" for each in theirs.events))
    assert theirs.text() == "Said to the team."
    assert [each for each in mine.events if each["event"] != "change" or "kind" in each] == []


@needs_chromedriver
def test_the_page_shows_question_and_answer_and_then_the_turns(
    server: Served, answers: SlowAnswers, tmp_path: Path
) -> None:
    messages = begin(server)
    answers.say("A 🍄 lichen ", "is <b>two</b> ", "in one.")
    with driving(tmp_path / "profile") as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH + HEARD})
        driver.get(server.login)
        driver.get(f"{web_of(server)}/c/claude-code/097ac8")

        def text(selector: str) -> str:
            return str(
                driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
            ).strip()

        asking = ask(server, messages)
        answers.let = 1
        until(lambda: text("article.assistant.arriving .arriving-text") == "A 🍄 lichen")
        assert text("article.user.arriving .arriving-text") == "Tell me about lichens."
        assert driver.find_elements("css selector", ".arriving button, .arriving [aria-live]") == []
        answers.let = 2
        until(lambda: text("article.assistant.arriving .arriving-text") == "A 🍄 lichen is <b>two</b>")
        place = driver.execute_script(PLACE)
        answers.let = 99
        asking.join()
        until(lambda: not driver.find_elements("css selector", ".arriving"))
        assert abs(driver.execute_script(PLACE) - place) < 8
        assert [each.text for each in driver.find_elements("css selector", "article[data-turn] .text")][-2:] == [
            "Tell me about lichens.",
            "A 🍄 lichen is <b>two</b> in one.",
        ]
        heard = driver.execute_script("return window.heard")
        assert [each for each in heard if each.startswith("Answer")] == ["Answering", "Answered, 7 words"]
        assert driver.execute_script("return window.emptied") == 0
        assert driver.execute_script("return window.reports") == []


@needs_chromedriver
def test_a_conversation_that_begins_is_listed_read_and_then_its_thread(
    server: Served, answers: SlowAnswers, tmp_path: Path
) -> None:
    answers.begins_at_once = False
    answers.say("A lichen ", "is <b>two</b> ", "in one.")
    with driving(tmp_path / "profile") as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        driver.get(server.login)
        driver.get(f"{web_of(server)}/")
        asking = ask(server, [user("Tell me about lichens.")])
        answers.let = 1
        until(lambda: driver.find_elements("link text", "Tell me about lichens."))[0].click()
        until(lambda: driver.execute_script(TEXT, ".assistant .arriving-text").strip() == "A lichen")
        answers.let = 2
        until(lambda: driver.execute_script(TEXT, ".assistant .arriving-text").strip() == "A lichen is <b>two</b>")
        assert driver.execute_script(TEXT, ".user .arriving-text") == "Tell me about lichens."
        answers.let = 99
        asking.join()
        until(lambda: "/t/" in driver.current_url)
        until(lambda: "in one." in driver.execute_script(TEXT, "article[data-turn].assistant"))
        assert driver.execute_script("return window.reports") == []


@needs_chromedriver
def test_reasoning_and_calls_are_folded_as_they_come_and_nothing_in_them_runs(
    server: Served, answers: SlowAnswers, tmp_path: Path
) -> None:
    messages = begin(server)
    with Loopback() as canary, driving(tmp_path / "profile") as driver:
        attacks = [each for each in hostile_texts(f"{canary.url}/canary") if len(each) < 1000]
        hostile = "\n".join(attacks)
        blocks = [{"type": "thinking", "thinking": hostile, "signature": "s"}, hostile]
        blocks += [{"type": "tool_use", "id": f"t{at}", "name": each, "input": {each: hostile}}
                   for at, each in enumerate(attacks[:30])]  # fmt: skip
        answers.pieces = [each + b"\n\n" for each in anthropic_answer(*blocks).split(b"\n\n") if each]
        answers.let = 0
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH + HEARD})
        driver.get(server.login)
        driver.get(f"{web_of(server)}/c/claude-code/097ac8")
        asking = ask(server, messages)
        answers.let = 4
        until(lambda: driver.execute_script(FOLDED))
        [[title, words, is_open]] = driver.execute_script(FOLDED)
        assert (title, is_open) == ("Reasoning", False)
        assert words.startswith(attacks[0])
        driver.execute_script("document.querySelector('.arriving details').open = true")
        answers.let = len(answers.pieces) - 3
        until(lambda: len(driver.execute_script(FOLDED)) == 31)
        folded = driver.execute_script(FOLDED)
        assert [each[2] for each in folded] == [True, *[False] * 30], "what a reader unfolds stays"
        assert folded[1][0].startswith(f"Call of {attacks[0]}")
        said = driver.execute_script("return document.querySelector('article.assistant.arriving .text').textContent")
        assert said.startswith(attacks[0])
        assert "\u2039U+202E\u203a" in said
        assert "\u202e" not in driver.page_source
        assert driver.title != "owned"
        assert driver.execute_script("return window.reports") == []
        answers.let = 999
        asking.join()
        until(lambda: not driver.find_elements("css selector", ".arriving"))
        assert driver.title != "owned"
        assert driver.execute_script("return window.reports") == []
        assert canary.requests == []
        assert driver.execute_script("return window.emptied") == 0
