"""What becomes of calls that passed the gateway: threads, lanes, answers, rows, and requests built again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Database, Store
from headish.content.forms.layout import is_same
from headish.errors import UnknownCall
from headish.serve.recorder.recording import CallRecorder
from headish.values.results.calls import UNREAD
from headish.values.shapes import heal
from support.counting import calls
from support.passed import (
    CLAUDE_CODE,
    anthropic_answer,
    anthropic_body,
    assistant,
    chat_answer,
    passed,
    user,
)
from support.recorded import GEMINI, KEY, LANE, Talk, gemini_answer, gemini_body, record, recorder_of, texts


class TestAThread:
    def test_the_next_request_of_a_client_continues_it(self, store: Store) -> None:
        talk = Talk(store)
        assert talk.say("Hi").name == LANE
        assert [talk.say(text).call.tip is not None for text in ("and", "so")] == [True, True]
        assert texts(store, LANE) == ["Be brief.", "Hi", "On Hi", "and", "On and", "so", "On so"]
        assert [entry.conversation.name for entry in store.conversations.list().entries] == [LANE]
        assert store.conversations.list().entries[0].title == "Hi"
        assert len(list(store.heads())) == 1
        talk.check_bodies()
        assert store.verify().problems == ()

    def test_a_restart_between_two_requests_changes_nothing(self, store: Store) -> None:
        talk = Talk(store)
        for number in range(4):
            talk.recorder = recorder_of(store)
            talk.say(f"{number}")
        assert store.stats().turns == 1 + 2 * 4
        assert [call.facts.added for call in store.calls.list()] == [1, 1, 1, 2]
        talk.check_bodies()

    @pytest.mark.parametrize("surface", ["anthropic", "chat", "responses"])
    def test_a_message_may_be_a_text_in_one_request_and_a_list_of_parts_in_the_next(
        self, store: Store, surface: str
    ) -> None:
        """A client marks its last message for the cache, and writes it as a text again afterwards."""
        name, kind = ("input", "input_text") if surface == "responses" else ("messages", "text")
        said: list[tuple[str, str]] = []
        sent = []
        recorder = recorder_of(store)
        for number in range(4):
            said = [*said, ("user", f"{number}")]
            listed: list[Any] = [{"role": role, "content": text} for role, text in said]
            listed[-1]["content"] = [{"type": kind, "text": said[-1][1]}]
            call = passed(surface, {"model": "m", name: listed}, headers={"x-headish-conversation": "trip"})
            record(recorder, call)
            sent.append((call.id, listed))
        assert [is_same(store.calls.body(id)[name], listed) for id, listed in sent] == [True] * 4
        assert (store.stats().turns, len(list(store.heads()))) == (4, 1)

    def test_a_replay_stores_nothing_twice(self, store: Store) -> None:
        body = anthropic_body([user("Hi")])
        call = passed("anthropic", body, anthropic_answer("Hello"), headers=CLAUDE_CODE)
        recorder = recorder_of(store)
        record(recorder, call)
        before = store.stats()
        assert recorder.record(call) is None
        assert recorder_of(store).record(call) is None
        assert store.stats() == before

    def test_a_changed_system_prompt_is_laid_over_the_old_one(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi", system="Today is Monday. " * 200)
        talk.say("and", system="Today is Tuesday. " * 200)
        talk.recorder = recorder_of(store)
        talk.say("so", system="Today is Wednesday. " * 200)
        talk.say("then", system="Today is Wednesday. " * 200)
        assert store.stats().turns == 1 + 2 * 4 + 2
        window = store.resolve(LANE).messages
        assert [message.role for message in window] == ["system", *["user", "assistant"] * 4]
        assert window[0].text.startswith("Today is Wednesday.")
        broke = [call.facts.broke for call in reversed(store.calls.list())]
        assert [each and (each.what, each.index) for each in broke] == [None, ("system", 0), ("system", 0), None]
        assert [each and bool(each.tokens) for each in broke] == [None, True, True, None]
        talk.check_bodies()

    def test_an_edit_is_a_branch_and_the_row_says_where_the_prefix_broke(self, store: Store) -> None:
        talk = Talk(store)
        for text in ("one", "two", "three"):
            talk.say(text)
        talk.messages = [*talk.messages[:2], user("zwei"), *talk.messages[3:], user("four")]
        broke = talk.send("On four")
        facts = store.calls.get(broke.call.id).facts
        assert facts.broke is not None
        assert (facts.broke.what, facts.broke.index) == ("message", 3)
        assert store.text(str(facts.broke.turn)) == "two"
        assert facts.added == 5
        assert len(list(store.heads())) == 2
        talk.check_bodies()

    def test_a_retry_and_another_answer_share_the_question(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        talk.messages.pop()
        again = talk.send("Another")
        facts = store.calls.get(again.call.id).facts
        assert (facts.added, facts.broke) == (0, None)
        assert store.stats().turns == 4
        assert store.text(LANE) == "Another"
        usage = [call.facts.usage["output_tokens"] for call in store.calls.list()]
        assert sum(usage) == sum(each.usage.output_tokens or 0 for each in store.usage(None)) == 14

    def test_tools_that_changed_break_the_whole_prefix(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        changed = talk.say("and", tools=[{"name": "Read", "input_schema": {"type": "object"}}])
        broke = store.calls.get(changed.call.id).facts.broke
        assert broke is not None
        assert (broke.what, broke.tokens) == ("tools", 100)
        talk.check_bodies()


class TestLanes:
    def test_titles_and_probes_stand_beside_the_conversation_and_out_of_lists(self, store: Store) -> None:
        recorder = recorder_of(store)
        probe: dict[str, Any] = {
            "model": "claude-x",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": "quota"}],
        }
        assert (
            record(recorder, passed("anthropic", probe, anthropic_answer("x"), headers=CLAUDE_CODE)).name == f"{LANE}/2"
        )
        assert Talk(store, recorder).say("Hi").name == LANE
        tags = {each.conversation.name: each.conversation.record.tags for each in store.conversations.list().entries}
        assert tags == {LANE: (), f"{LANE}/2": ("sub-agent",)}
        probe["messages"] = [*probe["messages"], {"role": "assistant", "content": "x"}, user("and on")]
        record(recorder, passed("anthropic", probe, anthropic_answer("y"), headers=CLAUDE_CODE))
        assert store.conversations.get(f"{LANE}/2").record.tags == ()
        again = Talk(store, recorder)
        assert again.say("Another task").name == f"{LANE}/3"

    @pytest.mark.parametrize("restarts", [False, True])
    def test_what_a_router_asks_before_each_prompt_stands_beside_the_conversation(
        self, store: Store, restarts: bool
    ) -> None:
        recorder = recorder_of(store)
        messages: list[dict[str, Any]] = []
        for number in range(3):
            recorder = recorder_of(store) if restarts else recorder
            messages.append({"role": "user", "parts": [{"text": f"Prompt {number}"}]})
            router = gemini_body(messages, "You are a router.")
            record(recorder, passed("gemini", router, gemini_answer('{"score": 7}'), headers=GEMINI))
            main = gemini_body(messages, "Be brief.", tools=[{"functionDeclarations": [{"name": "ls"}]}])
            recorded = record(recorder, passed("gemini", main, gemini_answer(f"On {number}"), headers=GEMINI))
            assert store.calls.get(recorded.call.id).facts.broke is None
            messages.append({"role": "model", "parts": [{"text": f"On {number}"}]})
        name = str(recorded.name)
        assert name.count("/") == 1
        said = [text for number in range(3) for text in (f"Prompt {number}", f"On {number}")]
        assert texts(store, name) == ["Be brief.", *said]
        tags = {each.conversation.name: each.conversation.record.tags for each in store.conversations.list().entries}
        assert tags == {name: (), f"{name}/2": ("sub-agent",)}

    def test_a_cache_mark_that_moves_off_the_system_prompt_makes_no_other_lane(self, store: Store) -> None:
        talk, prompt = Talk(store), {"type": "text", "text": "Be brief."}
        talk.say("Hi")
        sent = anthropic_body([*talk.messages, user("Summarize all of this.")], tools=[]) | {"system": [prompt]}
        recorded = record(talk.recorder, passed("anthropic", sent, anthropic_answer("Hi."), headers=CLAUDE_CODE))
        assert recorded.name == LANE
        assert texts(store, LANE) == ["Be brief.", "Hi", "On Hi", "Summarize all of this.", "Hi."]
        assert is_same(store.calls.body(recorded.call.id), sent)

    def test_what_goes_on_without_tools_under_the_same_system_prompt_stays_in_its_lane(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi", tools=[{"name": "Read", "input_schema": {"type": "object"}}])
        assert talk.say("Summarize all of this.", tools=[]).name == LANE
        assert texts(store, LANE) == ["Be brief.", "Hi", "On Hi", "Summarize all of this.", "On Summarize all of this."]
        talk.check_bodies()

    def test_a_compaction_names_the_lane_before(self, store: Store) -> None:
        recorder = recorder_of(store)
        Talk(store, recorder).say("Hi")
        summary = "This session is being continued from a previous conversation that ran out of context."
        assert Talk(store, recorder).say(summary).name == f"{LANE}/2"
        assert store.conversations.get(f"{LANE}/2").record.app["before"] == LANE

    def test_a_lane_that_was_renamed_goes_on_under_its_new_name(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        store.bookmarks.rename(LANE, "mine")
        talk.recorder = recorder_of(store)
        assert talk.say("and").name == "mine"
        assert [call.id for call in store.calls.list("mine")] == [each for each, _ in reversed(talk.sent)]

    def test_a_lane_that_is_renamed_while_it_is_remembered_goes_on_under_its_new_name(self, store: Store) -> None:
        talk = Talk(store)
        talk.say("Hi")
        store.bookmarks.rename(LANE, "mine")
        assert talk.say("and").name == "mine"
        assert LANE not in store.bookmarks
        assert texts(store, "mine") == ["Be brief.", "Hi", "On Hi", "and", "On and"]
        store.bookmarks.remove("mine")
        again = talk.say("so").name
        assert again not in (None, "mine")
        assert texts(store, str(again))[-1] == "On so"

    def test_sessions_that_begin_alike_have_names_of_their_own(self, store: Store) -> None:
        names = []
        for ending in ("aa86b0", "bb86b0"):
            session = f"097ac834-a2b4-4deb-b006-36a077{ending}"
            body = anthropic_body([user(f"Hi {ending}")])
            headers = {**CLAUDE_CODE, "x-claude-code-session-id": session}
            names.append(
                record(recorder_of(store), passed("anthropic", body, anthropic_answer("x"), headers=headers)).name
            )
        assert names == [LANE, "claude-code/36a077bb86b0"]

    def test_without_a_session_the_oldest_equal_thread_goes_on(self, store: Store) -> None:
        recorder = recorder_of(store)
        messages: list[Any] = [{"role": "user", "content": "Hi"}]
        record(recorder, passed("chat", {"model": "m", "messages": messages}, chat_answer("Hello")))
        messages = [*messages, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "and"}]
        record(recorder_of(store), passed("chat", {"model": "m", "messages": messages}, chat_answer("so")))
        assert (store.stats().turns, list(store.bookmarks)) == (4, [])

    def test_a_call_goes_to_the_space_of_its_token(self, store: Store) -> None:
        asked: list[str] = []
        recorder = CallRecorder(lambda space: asked.append(space) or store, "home")  # type: ignore[func-returns-value]
        record(
            recorder, passed("chat", {"messages": [{"role": "user", "content": "a"}]}, chat_answer("b"), space="mine")
        )
        record(recorder, passed("chat", {"messages": [{"role": "user", "content": "c"}]}, chat_answer("d")))
        assert asked == ["mine", "home"]


class TestWhatIsKept:
    def test_no_key_is_stored_whatever_it_stood_in(self, file_place: Any) -> None:
        store = file_place.open()
        body = anthropic_body(
            [user(f"My key is {KEY}")], mcp_servers=[{"url": "https://x", "authorization_token": KEY}]
        )
        call = passed("anthropic", body, anthropic_answer(f"You said {KEY}"), headers=CLAUDE_CODE)
        recorder = recorder_of(store)
        record(recorder, call)
        broken = passed("anthropic", b'{"messages": "' + KEY.encode(), headers=CLAUDE_CODE)
        record(recorder, broken)
        store.close()
        for path in file_place.path.parent.glob(f"{file_place.path.name}*"):
            assert KEY.encode() not in path.read_bytes(), path

    @pytest.mark.parametrize("surface", ["anthropic", "chat", "gemini"])
    def test_half_a_character_does_not_keep_a_request_from_being_stored(self, store: Store, surface: str) -> None:
        """Clients cut texts within a character, and send back what a model said until it was cut off there."""
        recorder, half = recorder_of(store), "\ud83d"
        word = f"{half}\\{half}\U0001f600\\ud83d\\\\ude00"
        for count in (1, 3):
            if surface == "gemini":
                said = [{"role": role, "parts": [{"text": word}]} for role in ("user", "model", "user")]
                body: dict[str, Any] = gemini_body(said[:count], half, labels={half: "\ude00"})
                answer: Any = gemini_answer(word)
            else:
                said = [{"role": role, "content": word} for role in ("user", "assistant", "user")]
                body = {"messages": said[:count], "metadata": {half: "\ude00"}}
                answer = chat_answer(word) if surface == "chat" else anthropic_answer(word)
            call = passed(surface, body, answer, headers=GEMINI if surface == "gemini" else CLAUDE_CODE)
            recorded = record(recorder, call)
            facts = store.calls.get(call.id).facts
            assert (facts.error, facts.note) == (None, "lone surrogates in the request are kept as U+FFFD")
            assert is_same(store.calls.body(call.id), heal(body))
        healed = "\ufffd\\\ufffd\U0001f600\\ud83d\\\\ude00"
        assert recorded.name is not None
        assert texts(store, recorded.name) == ["\ufffd"] * (surface == "gemini") + [healed] * 4
        assert store.verify().problems == ()

    def test_what_is_stored_late_says_when_it_was_said(self, store: Store) -> None:
        call = passed("anthropic", anthropic_body([user("Hi")]), anthropic_answer("Hello"), headers=CLAUDE_CODE)
        assert call.end is not None
        call.begin = replace(call.begin, at=1_700_000_000_000)
        call.end = replace(call.end, at=1_700_000_005_000)
        recorded = record(recorder_of(store), call).call
        said = [store.get(str(each)).said_at.timestamp() for each in (recorded.tip, recorded.answer)]
        assert said == [1_700_000_000, 1_700_000_005]
        assert store.verify().problems == ()

    def test_other_paths_are_counted(self, store: Store) -> None:
        recorder = recorder_of(store)
        for path in ("/v1/messages/count_tokens", "/v1/models", "/v1/embeddings", "/v1/messages/batches"):
            record(recorder, passed("anthropic", b'{"messages": []}', b"{}", path=path))
        assert [call.facts.path for call in store.calls.list(limit=2)] == ["/v1/messages/batches", "/v1/embeddings"]
        assert (store.stats().turns, len(store.objects.list(UNREAD))) == (0, 0)

    def test_an_erasure_takes_the_rows_of_its_calls(self, store: Store) -> None:
        talk = Talk(store)
        first, second = talk.say("Hi"), talk.say("and")
        store.erase(str(second.call.answer), reason="asked")
        with pytest.raises(UnknownCall):
            store.calls.get(second.call.id)
        assert store.calls.get(first.call.id).tip == first.call.tip
        talk.say("so")
        assert store.text(LANE) == "On so"
        assert store.verify().problems == ()

    def test_a_row_that_was_altered_is_reported(self, file_place: Any) -> None:
        store = file_place.open()
        Talk(store).say("Hi")
        store.close()
        with sqlite3.connect(file_place.path) as database:
            database.execute("UPDATE call SET client = x'61'")
        store = file_place.open()
        assert [each.what for each in store.verify().problems] == ["it was altered: its seal disagrees"]


class TestCost:
    def test_a_request_costs_its_tail(self, file_place: Any) -> None:
        talk = Talk(file_place.open())
        statements: list[int] = []

        def say(number: int) -> None:
            talk.say(f"Question {number}", system="Today is " + ("Monday" if number < 30 else "Tuesday"))

        for number in range(60):
            count = calls if number % 2 else lambda work, _: work() or 0
            statements.append(count(lambda at=number: say(at), "execute"))
        drafts = [calls(lambda at=number: say(at), "make_read_draft") for number in range(60, 64)]
        # Behind the first ones, and behind the one that changed the system prompt, all cost the same.
        assert len(set(statements[3:29:2])) == len(set(statements[33::2])) == 1
        assert statements[59] == statements[29] > 5
        assert set(drafts) == {1}

    def test_a_growing_thread_stores_what_was_said_once(self, store: Store) -> None:
        talk = Talk(store)
        for number in range(100):
            talk.say(f"Question {number} " + "x" * 300, "Answer " + "y" * 300)
        said = sum(len(json.dumps(each["content"])) for each in talk.messages)
        stored = sum(len(store.payload(turn.id)) for turn in store.turns())
        assert stored <= 1.01 * said


def test_calls_go_to_the_space_that_has_the_name_now(tmp_path: Path) -> None:
    with Database.open(tmp_path / "talk.db") as database:
        recorder = CallRecorder(lambda name: database.store(name, create=True), "alice")
        messages = [user("Hi")]

        def say() -> None:
            body = anthropic_body(messages, nonce=len(messages))
            record(recorder, passed("anthropic", body, anthropic_answer("Yes"), headers=CLAUDE_CODE))
            messages.extend((assistant("Yes"), user("and")))

        def counted(space: str) -> int:
            return len(database.store(space, create=False).calls.list())

        say()
        database.spaces.rename("alice", "old")
        say()
        assert (counted("old"), counted("alice")) == (1, 1)
        database.spaces.erase("alice", reason="asked")
        say()
        assert (counted("old"), counted("alice")) == (1, 1)
        assert recorder.forget_unread() == 0
        assert database.store("alice").verify().problems == ()
