"""An answer of Gemini that comes back in chunks, as google-genai's chats send it, is the stored one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.content.forms.layout import is_same
from headish.gateway.spool import SpooledCall
from headish.serve.recorder.recording import CallRecorder
from support.counting import calls
from support.loops import failing
from support.passed import passed
from support.places import FilePlace

Part = dict[str, Any]
SIGNED = {"thoughtSignature": "//79+w=="}
SIGNED_AGAIN = {"thoughtSignature": "__79-w=="}
CALL: Part = {"functionCall": {"name": "ls", "args": {"path": "/"}}}
SESSION = {"x-headish-conversation": "trip", "user-agent": "google-genai-sdk/3.4.0"}


def model(*parts: Part) -> Part:
    return {"role": "model", "parts": list(parts)}


def person(text: str) -> Part:
    return {"role": "user", "parts": [{"text": text}]}


def texts(*said: str) -> list[Part]:
    return [model({"text": each}) for each in said]


_numbers = count()


def a_space(database: Database) -> Store:
    return database.store(f"space{next(_numbers)}", create=True)


def call(data: str) -> Part:
    return {"functionCall": {"name": "ls", "args": {"data": data}}}


def picture(data: str) -> Part:
    return {"inlineData": {"mimeType": "image/png", "data": data}}


class Chat:
    """A chat of google-genai: its history has each chunk of each answer as a content of its own."""

    def __init__(self, store: Store, *, session: bool = False, restarts: bool = False) -> None:
        self.store, self.headers, self.restarts = store, SESSION if session else {}, restarts
        self.recorder = CallRecorder(lambda _space: store)
        self.contents: list[Part] = []
        self.system: str | None = None
        self.sent: list[tuple[str, Part]] = []

    def say(self, question: Part, chunks: Sequence[Part], back: Sequence[Part] | None = None) -> int:
        """Ask; the answer comes in chunks, and goes back as ``back``. Returns how many turns the request added."""
        self.contents = [*self.contents, question]
        call = self.send(chunks)
        self.contents = [*self.contents, *(chunks if back is None else back)]
        return self.store.calls.get(call.id).facts.added

    def send(self, chunks: Sequence[Part]) -> SpooledCall:
        if self.restarts:
            self.recorder = CallRecorder(lambda _space: self.store)
        answer: list[Any] = [{"candidates": [{"content": content}], "responseId": "r1"} for content in chunks]
        answer[-1]["candidates"][0]["finishReason"] = "STOP"
        body: Part = {"contents": [*self.contents]}
        body |= {} if self.system is None else {"systemInstruction": {"parts": [{"text": self.system}]}}
        call = passed("gemini", body, answer, headers=self.headers)
        self.recorder.record(call)
        self.sent.append((call.id, body))
        return call

    def store_apart(self, contents: Sequence[Part]) -> None:
        """Store the chunks of the last answer and the next question as turns beside it, as was done before chunks were
        known."""
        last = self.store.calls.get(self.sent[-1][0])
        tip = str(last.tip)
        for content in contents:
            tip = self.store.add_turn(content, form="gemini", continues=tip).id
        if self.headers:
            self.store.bookmarks.set("google-genai-sdk/trip", tip)
        self.recorder = CallRecorder(lambda _space: self.store)

    def check_bodies(self) -> None:
        for id, body in self.sent:
            assert is_same(self.store.calls.body(id), body), id

    @property
    def size(self) -> tuple[int, int]:
        """Its turns and its heads."""
        return self.store.stats().turns, len(list(self.store.heads()))


CHUNKS = {
    "texts": texts("One ", "two ", "three."),
    "one chunk": texts("One."),
    "an empty one at the end": texts("One ", "two.", ""),
    "only one with words": texts("One.", ""),
    "empty ones between": texts("", "One ", "", "", "two."),
    "several parts in a chunk": [model({"text": "One "}, {"text": "two"}), model({"text": " three."})],
    "other alphabets": texts("Grü", "ße 🙂", "🙂 日", "本"),
    "thoughts": [
        model({"text": "Hm", "thought": True}),
        model({"text": ", so.", "thought": True}),
        *texts("One ", "two."),
        model({"text": "", **SIGNED}),
    ],
    "an empty thought": [model({"text": "Hm", "thought": True}), model({"text": "", "thought": True}), *texts("One.")],
    "signed words": [*texts("One "), model({"text": "two.", **SIGNED}), *texts("")],
    "a call": [*texts("Look", "ing."), model({**CALL, **SIGNED}), *texts("")],
    "calls alone": [model({**CALL, **SIGNED}), model(CALL)],
    "a picture between": [
        *texts("See "),
        model(picture("iVBO")),
        *texts("!"),
    ],
}


@pytest.mark.parametrize("name", ["texts", "thoughts", "a call"])
def test_an_answer_that_comes_back_in_its_chunks_is_the_stored_one(store: Store, name: str) -> None:
    chat = Chat(store)
    assert [chat.say(person(f"{number}"), CHUNKS[name]) for number in range(3)] == [1, 1, 1]
    assert chat.size == (6, 1)
    chat.check_bodies()
    assert [call.facts.broke for call in store.calls.list()] == [None] * 3


@pytest.mark.parametrize("restarts", [False, True], ids=["remembered", "restarted"])
@pytest.mark.parametrize("session", [False, True], ids=["no session", "a session"])
def test_it_is_however_it_was_cut(tmp_path: Path, session: bool, restarts: bool) -> None:
    def check(name: str) -> None:
        chat = Chat(a_space(database), session=session, restarts=restarts)
        added = [chat.say(person(f"{number}"), CHUNKS[name]) for number in range(4)]
        assert (added, chat.size) == ([1, 1, 1, 1], (8, 1))
        chat.check_bodies()
        assert chat.store.verify().problems == ()

    with Database.open(tmp_path / "talk.db") as database:
        assert failing(CHUNKS, check) == {}


BACK = {
    "cut elsewhere": (texts("One ", "two."), texts("O", "ne two", ".")),
    "joined": (texts("One ", "two."), texts("One two.")),
    "cut although it came whole": (texts("One two."), texts("One ", "two.")),
    "in parts of one content": (texts("One ", "two."), [model({"text": "One "}, {"text": "two."})]),
    "without its thoughts": (CHUNKS["thoughts"], [*texts("One ", "two."), CHUNKS["thoughts"][-1]]),
    "signed in another alphabet": (CHUNKS["signed words"], [*texts("One "), model({"text": "two.", **SIGNED_AGAIN})]),
    "a call that is signed so": (CHUNKS["a call"], [*texts("Looking."), model({**CALL, **SIGNED_AGAIN})]),
    "a picture in another alphabet": (
        [*texts("See", " it:"), model(picture("iV+/"))],
        [*texts("See", " it:"), model(picture("iV-_"))],
    ),
    "whole, and signed so": ([model({**CALL, **SIGNED})], [model({**CALL, **SIGNED_AGAIN})]),
}


def test_it_is_if_a_client_cuts_or_spells_it_otherwise(tmp_path: Path) -> None:
    def check(name: str) -> None:
        came, back = BACK[name]
        for restarts in (False, True):
            chat = Chat(a_space(database), restarts=restarts)
            added = [chat.say(person(f"{number}"), came, back) for number in range(4)]
            assert (added, chat.size) == ([1, 1, 1, 1], (8, 1))
            chat.check_bodies()

    with Database.open(tmp_path / "talk.db") as database:
        assert failing(BACK, check) == {}


OTHERS = {
    "another word": texts("One ", "three."),
    "a word less": texts("One "),
    "more in the last chunk": texts("One ", "two.!"),
    "another order": texts("two.", "One "),
    "words as thoughts": [*texts("One "), model({"text": "two.", "thought": True})],
    "another role": [*texts("One "), person("two.")],
}


def test_an_answer_that_was_edited_is_a_branch(tmp_path: Path) -> None:
    def check(name: str) -> None:
        for known in (False, True):
            chat = Chat(a_space(database))
            for number in range(1 + known):
                chat.say(person(f"{number}"), texts("One ", "two."))
            chat.contents[1:3] = OTHERS[name]
            added = chat.say(person("?"), texts("So."))
            rest = len(OTHERS[name]) + 3 * known + 1
            assert (added, chat.size[1]) == (rest, 2), known
            # The branch goes on as it is.
            assert chat.say(person("!"), texts("So.")) == 1
            chat.check_bodies()

    with Database.open(tmp_path / "talk.db") as database:
        assert failing(OTHERS, check) == {}


def test_it_is_a_branch_if_what_is_not_said_aloud_was_edited(tmp_path: Path) -> None:
    thought: Part = {"text": "a+b", "thought": True}
    other, aloud = {**thought, "text": "a-b"}, {"text": "a+b"}
    rest = texts("One ", "two.")
    edits = {
        "arguments left out": ([*rest, model(CALL)], [*rest, model({"functionCall": {"name": "ls", "args": {}}})]),
        "another thought": ([model(thought), *rest], [model(other), *rest]),
        "another thought beside words": ([model(thought, {"text": "One"})], [model(other, {"text": "One"})]),
        "arguments that look so": ([model(call("a+b"))], [model(call("a-b"))]),
        "a thought aloud": ([model(thought), *rest], [model(aloud), *rest]),
    }

    def check(name: str) -> None:
        chat = Chat(a_space(database))
        chat.say(person("a"), *edits[name])
        assert chat.say(person("b"), texts("So.")) == len(edits[name][1]) + 1
        chat.check_bodies()

    with Database.open(tmp_path / "talk.db") as database:
        assert failing(edits, check) == {}


def test_an_edit_before_a_changed_system_prompt_is_a_branch(store: Store) -> None:
    chat = Chat(store, session=True)
    for number in range(4):
        chat.system = f"It is {number // 2}."
        chat.say(person(f"{number}"), texts("One ", "two."))
    assert chat.size == (2 + 8, 1)
    chat.contents[3] = person("an edit")
    assert (chat.say(person("?"), texts("So.")), chat.size[1]) == (1 + 10, 2)  # the prompt, and the list from there on
    chat.check_bodies()


def test_a_content_that_follows_an_answer_is_a_turn_of_its_own(store: Store) -> None:
    chat = Chat(store)
    chat.say(person("a"), texts("One ", "two."))
    chat.contents += [model(CALL)]
    assert (chat.say(person("b"), texts("So.")), chat.size) == (2, (5, 1))
    chat.check_bodies()


def test_an_answer_without_words_is_stored_however_it_comes_back(store: Store) -> None:
    chat, thought = Chat(store), model({"text": "Hm", "thought": True})
    for back in ([thought], texts("So."), [], [*texts(""), thought]):
        assert chat.say(person("a"), [thought], back) > 0
    chat.check_bodies()


def test_each_request_is_built_as_it_was_sent_when_its_client_changes_how_it_cuts(tmp_path: Path) -> None:
    ways = {"chunks": texts("One ", "two."), "others": texts("One", " two."), "whole": texts("One two.")}

    def check(first: str, then: str, restarts: bool) -> None:
        chat = Chat(a_space(database), restarts=restarts)
        chat.say(person("a"), texts("One ", "two."), ways[first])
        chat.say(person("b"), texts("So."))
        chat.contents[1 : 1 + len(ways[first])] = ways[then]
        chat.say(person("c"), texts("So."))
        assert [chat.say(person(text), texts("So.")) for text in "de"] == [1, 1]
        chat.check_bodies()
        assert chat.store.verify().problems == ()

    with Database.open(tmp_path / "talk.db") as database:
        assert failing(product(ways, ways, (False, True)), check) == {}


def test_two_chats_that_share_an_answer_and_cut_it_differently_keep_their_bodies(store: Store) -> None:
    one, other = Chat(store), Chat(store, session=True)
    one.say(person("a"), texts("One ", "two."))
    other.contents = [person("a"), *texts("One", " two.")]
    other.say(person("b"), texts("So."))
    one.say(person("c"), texts("So."))
    one.say(person("d"), texts("So."))
    one.check_bodies()
    other.check_bodies()


def test_a_chat_whose_chunks_are_stored_as_turns_goes_on_from_them(tmp_path: Path) -> None:
    chunks = [[model({**CALL, **SIGNED})], texts("One ", "two.", ""), texts("So.", "")]

    def check(session: bool, restarts: bool, asked: int) -> None:
        chat = Chat(a_space(database), session=session, restarts=restarts)
        for number in range(asked):
            assert chat.say(person(f"{number}"), chunks[number % 3]) == (
                number in (0, 1, 4)
            )  # others are stored apart already
            if number % 3 and number + 1 < asked:
                chat.store_apart([*chunks[number % 3], person(f"{number + 1}")])
        heads = chat.size[1]
        assert [chat.say(person(f"more {number}"), chunks[number % 3]) for number in range(4)] == [1, 1, 1, 1]
        assert chat.size[1] == heads
        chat.check_bodies()
        assert chat.store.verify().problems == ()

    with Database.open(tmp_path / "talk.db") as database:
        assert failing(product((False, True), (False, True), range(2, 6)), check) == {}


def test_an_erased_answer_leaves_no_lengths_behind(file_place: FilePlace) -> None:
    chat = Chat(file_place.open())
    for number in range(3):
        chat.say(person(f"{number}"), texts("One ", "two."))
    first = chat.store.calls.get(chat.sent[0][0])
    assert first.facts.resent == {"cuts": [[4], [-1]]}
    chat.store.erase(str(first.answer), reason="asked")
    assert [call.facts.resent for call in chat.store.calls.list()] == [None, {"cuts": [[4], [-1]]}]
    rows = [str(call.to_dict()) for call in chat.store.calls.list() if call.facts.resent is None]
    assert not [row for row in rows if "cuts" in row]
    assert chat.say(person("more"), texts("So.")) == 1
    assert chat.store.verify().problems == ()


def test_a_request_costs_its_tail(file_place: FilePlace) -> None:
    chat = Chat(file_place.open())
    statements: list[int] = []
    decoded: list[int] = []
    for number in range(24):
        counts, called = ((statements, "execute"), (decoded, "natives_hash"))[number % 2]
        counts.append(calls(lambda at=number: chat.say(person(f"{at}"), texts("One ", *"abcdefgh")), called))
    assert len(set(statements[3:])) == 1
    assert len(set(decoded[3:])) == 1


def test_ten_thousand_contents_cost_ten_times_a_thousand(tmp_path: Path) -> None:
    def cost(chunks: int) -> int:
        chat = Chat(a_space(database))
        chat.say(person("Hi"), texts(*map(str, range(chunks))))
        assert chat.say(person("and"), texts("So.")) == 1
        return calls(lambda: chat.say(person("so"), texts("So.")))

    with Database.open(tmp_path / "talk.db") as database:
        assert cost(5000) < 11 * cost(500)
