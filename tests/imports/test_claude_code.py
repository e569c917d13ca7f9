"""Claude Code's sessions: lines of an answer are one turn, rewinds are forks, and a live file grows without doubles."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Store
from headish.content.strictjson import is_sound
from headish.imports.readers.shared import json_records
from support.insides import unchanged

SESSION = "5f1c0a52-0000-4000-8000-000000000001"


def line(kind: str, uuid: str, parent: str | None, content: Any = None, **more: Any) -> dict[str, Any]:
    """A line as the program writes it; ``message`` holds what else the message says."""
    message = more.pop("message", {})
    said = {"message": {"role": kind, "content": content, **message}} if content is not None else {}
    return {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/ada/tides",
        "sessionId": SESSION, "version": "2.1.0", "gitBranch": "main", "type": kind, **said, "uuid": uuid,
        "timestamp": f"2026-01-02T03:04:{len(uuid) * 7 % 60:02}.000Z", **more,
    }  # fmt: skip


def answer(uuid: str, parent: str, id: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 100, "service_tier": "standard"}
    message = {"id": id, "type": "message", "model": "claude-x", "stop_reason": None, "usage": usage}
    return line("assistant", uuid, parent, list(blocks), message=message, requestId=f"req of {id}", **more)


def call(id: str, command: str = "ls") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def result(uuid: str, parent: str, call_id: str, text: str = "a b") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": False}
    return line("user", uuid, parent, [block], toolUseResult={"stdout": text, "stderr": ""})


def queued(uuid: str, parent: str, prompt: Any, **more: Any) -> dict[str, Any]:
    """A message that was typed while the program worked."""
    attachment = {"type": "queued_command", "prompt": prompt, **more}
    return {**line("attachment", uuid, parent), "attachment": attachment}


def session(*records: Any, end: bytes = b"") -> io.BytesIO:
    file = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records) + end)
    file.name = f"{SESSION}.jsonl"
    return file


WORK = [
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    line("user", "u1", None, "List the files"),
    answer("a1", "u1", "msg_1", {"type": "thinking", "thinking": "So …", "signature": "c2ln"}),
    answer("a2", "a1", "msg_1", {"type": "text", "text": "Let me look."}),
    answer("a3", "a2", "msg_1", call("t1")),
    answer("a4", "a3", "msg_1", call("t2", "pwd")),
    result("r1", "a3", "t1"),
    result("r2", "a4", "t2", "/w"),
    answer("a5", "r2", "msg_2", {"type": "text", "text": "Two files."}),
]


def texts(store: Store, name: str) -> list[str]:
    return [each.text for each in store.resolve(name).messages]


def said(store: Store, name: str) -> list[tuple[str | None, list[str]]]:
    return [(each.role, [to["type"] for to in each.to_dict()["content"]]) for each in store.resolve(name).messages]


class TestSessions:
    def test_the_lines_of_an_answer_are_one_turn_and_parallel_results_follow_one_another(self, store: Store) -> None:
        done = store.import_file(session(*WORK))
        assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (1, 5, 5, 1, 0)
        assert said(store, "list-the-files") == [
            ("user", ["text"]),
            ("assistant", ["thinking", "text", "tool_use", "tool_use"]),
            ("tool", ["tool_result"]),
            ("tool", ["tool_result"]),
            ("assistant", ["text"]),
        ]
        assert len(store.heads()) == 1
        assert store.verify().problems == ()

    def test_what_the_program_says_of_a_message_is_kept(self, store: Store) -> None:
        done = store.import_file(session(*WORK))
        found = store.find("claude-code:a1")
        assert found.meta.reply == {
            "provider": "anthropic", "model": "claude-x", "response_id": "msg_1",
            "usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 100},
        }  # fmt: skip
        assert found.meta.app["claude-code"]["further_uuids"] == ["a2", "a3", "a4"]
        assert store.find("claude-code:r1").meta.app["claude-code"]["toolUseResult"] == {"stdout": "a b", "stderr": ""}
        assert found.said_at.isoformat() == "2026-01-02T03:04:14+00:00"
        assert done.unmapped == {
            "record of type file-history-snapshot (left out)": 1, "toolUseResult (kept in meta)": 2,
        }  # fmt: skip

    def test_tokens_of_an_answer_count_once(self, store: Store) -> None:
        store.import_file(session(*WORK))
        [count] = store.usage(by="model")
        assert (count.replies, count.usage.output_tokens) == (2, 14)

    def test_the_conversation_has_a_title_tags_and_the_session_as_its_key(self, store: Store) -> None:
        store.import_file(session(*WORK, {"type": "summary", "summary": "Files, listed: a/b", "leafUuid": "a5"}))
        conversation = store.conversations.find(f"claude-code:{SESSION}")
        assert (conversation.name, conversation.record.title) == ("files-listed-a-b", "Files, listed: a/b")
        assert conversation.record.tags == ("claude-code", "tides")
        assert conversation.record.app["cwd"] == "/home/ada/tides"

    def test_a_rewind_is_a_fork_and_the_last_line_has_the_name(self, store: Store) -> None:
        again = line("user", "u9", "a5", "No, sort them")
        other = line("user", "u10", "a5", "Thanks")
        store.import_file(
            session(*WORK, again, answer("a9", "u9", "msg_9", {"type": "text", "text": "Sorted."}), other)
        )
        assert texts(store, "list-the-files")[-1] == "Thanks"
        assert len(store.heads()) == 2
        assert len(store.bookmarks) == 1

    def test_what_says_nothing_is_walked_through(self, store: Store) -> None:
        hook = {**line("progress", "p1", "a5"), "data": {"hook": "x"}}
        done = store.import_file(session(*WORK, hook, line("user", "u2", "p1", "More")))
        assert texts(store, "list-the-files")[-2:] == ["Two files.", "More"]
        assert done.unmapped["record of type progress (left out)"] == 1

    def test_what_was_typed_while_the_program_worked_is_said_by_the_user(self, store: Store) -> None:
        asked = queued("q1", "r2", "And sort them", commandMode="prompt", origin={"kind": "human"})
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
        shown = queued("q2", "q1", [{"type": "text", "text": "Like this"}, picture], commandMode="prompt")
        sorted_ = answer("a5", "q2", "msg_2", {"type": "text", "text": "Sorted."})
        done = store.import_file(session(*WORK[:-1], asked, shown, sorted_))
        assert said(store, "list-the-files")[-3:] == [
            ("user", ["text"]), ("user", ["text", "document"]), ("assistant", ["text"]),
        ]  # fmt: skip
        assert texts(store, "list-the-files")[-3:-1] == ["And sort them", "Like this"]
        kept = store.find("claude-code:q1").meta.app["claude-code"]
        assert kept["attachment"] == {"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}}
        assert (done.broken, done.added) == (0, 7)
        assert store.import_file(session(*WORK[:-1], asked, shown, sorted_)).added == 0

    def test_news_of_a_task_that_came_while_the_program_worked_is_hidden_from_people(self, store: Store) -> None:
        news = queued("q1", "r2", "<task-notification>done</task-notification>", commandMode="task-notification")
        hint = queued("q2", "q1", "Stay brief.", commandMode="prompt", isMeta=True)
        store.import_file(session(*WORK[:-1], news, hint))
        assert store.find("claude-code:q1").text == "<task-notification>done</task-notification>"
        assert [store.find(f"claude-code:{id}").meta.attributes.hidden for id in ("q1", "q2")] == ["people"] * 2

    def test_a_message_without_an_id_is_counted_as_the_attachment_it_is(self, store: Store) -> None:
        nameless = queued("q1", "a5", "Hm")
        del nameless["uuid"]
        done = store.import_file(session(*WORK, nameless))
        assert (done.added, done.unmapped["record of type attachment (left out)"]) == (5, 1)

    @pytest.mark.parametrize("attachment", [
        {"type": "queued_command"}, {"type": "queued_command", "prompt": ""}, {"type": "queued_command", "prompt": 7},
        {"type": "edited_text_file", "prompt": "x"}, None, "queued_command",
    ])  # fmt: skip
    def test_an_attachment_that_says_nothing_is_walked_through(self, store: Store, attachment: Any) -> None:
        empty = {**line("attachment", "q1", "a5"), "attachment": attachment}
        done = store.import_file(session(*WORK, empty, line("user", "u2", "q1", "More")))
        assert texts(store, "list-the-files")[-2:] == ["Two files.", "More"]
        assert done.unmapped["record of type attachment (left out)"] == 1

    def test_the_summary_of_a_compaction_stands_for_what_it_sums_up(self, store: Store) -> None:
        boundary = line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a5", content=None)
        boundary["compactMetadata"] = {"trigger": "manual", "preTokens": 900}
        summary = line("user", "s1", "b1", "So far: files.", isCompactSummary=True)
        store.import_file(
            session(*WORK, boundary, summary, line("user", "a4", "s1", "kept"), line("user", "u3", "s1", "Go on"))
        )
        assert texts(store, "list-the-files") == ["So far: files.", "Go on"]
        assert store.find("claude-code:s1").meta.app["claude-code"]["isCompactSummary"] is True

    def test_a_sub_agent_is_a_conversation_of_its_own(self, store: Store) -> None:
        agent = [
            line("user", "g1", None, "Find the tests", isSidechain=True, agentId="f00"),
            {**answer("g2", "g1", "msg_7", {"type": "text", "text": "There."}), "isSidechain": True, "agentId": "f00"},
        ]
        assert store.import_file(session(*WORK, *agent)).trees == 2
        found = store.conversations.find(f"claude-code:{SESSION}:f00")
        assert (found.name, found.record.tags) == ("find-the-tests", ("claude-code", "tides", "sub-agent"))

    def test_without_parents_the_order_of_the_file_is_all_there_is(self, store: Store) -> None:
        records = [line("user", f"x{number}", None, f"say {number}") for number in range(3)]
        store.import_file(session(*records))
        assert texts(store, "say-0") == ["say 0", "say 1", "say 2"]

    def test_an_image_is_a_document(self, store: Store) -> None:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        store.import_file(session(line("user", "i1", None, [image, {"type": "text", "text": "See"}])))
        assert [block["type"] for block in store.resolve("see").messages[0].to_dict()["content"]] == [
            "document",
            "text",
        ]

    def test_commands_to_the_program_are_kept_and_are_no_last_words(self, store: Store) -> None:
        noise = [
            line("user", "n1", "a5", "Caveat: The messages below were generated by the user …", isMeta=True),
            line("user", "n2", "n1", "<command-name>/exit</command-name>\n<command-message>exit</command-message>"),
            line("user", "n3", "n2", "<local-command-stdout>Goodbye!</local-command-stdout>"),
        ]
        assert store.import_file(session(*WORK, *noise)).added == 8
        assert store.text("list-the-files") == "Two files."
        store.import_file(session(*WORK, *noise, line("user", "u2", "n3", "Back again")))
        assert store.text("list-the-files") == "Back again"
        assert len(store.heads()) == 1

    def test_a_sub_agent_is_called_by_its_task(self, store: Store, tmp_path: Path) -> None:
        agent = [
            {**line("user", "g1", None, "You are … find"), "isSidechain": True, "agentId": "f00"},
            {**answer("g2", "g1", "msg_7", {"type": "text", "text": "There."}), "isSidechain": True, "agentId": "f00"},
        ]
        path = tmp_path / "agent-f00.jsonl"
        path.write_bytes(session(*agent).getvalue())
        path.with_name("agent-f00.meta.json").write_text('{"agentType": "Explore", "description": "Find the tests"}')
        store.import_file(path)
        found = store.conversations.find(f"claude-code:{SESSION}:f00")
        assert (found.name, found.record.title) == ("find-the-tests", "Find the tests")
        assert found.record.app["agentType"] == "Explore"
        path.with_name("agent-f00.meta.json").write_text("{")
        assert store.import_file(path).added == 0


class TestAgain:
    def test_a_second_import_stores_nothing(self, store: Store) -> None:
        store.import_file(session(*WORK))
        with unchanged(store):
            again = store.import_file(session(*WORK))
        assert (again.messages, again.added, again.bookmarks) == (5, 0, 0)

    def test_a_longer_file_adds_its_tail_and_the_name_follows(self, store: Store) -> None:
        store.import_file(session(*WORK))
        done = store.import_file(session(*WORK, line("user", "u2", "a5", "More")))
        assert (done.added, done.bookmarks) == (1, 1)
        assert texts(store, "list-the-files")[-1] == "More"

    def test_a_name_that_somebody_moved_stays(self, store: Store) -> None:
        store.import_file(session(*WORK))
        mine = store.add_turn("My own", continues="list-the-files")
        store.import_file(session(*WORK, line("user", "u2", "a5", "More")))
        assert store.get("list-the-files") == mine

    def test_an_answer_that_grew_is_a_version_and_what_follows_is_behind_it(self, store: Store) -> None:
        """The file was read between two calls of one answer, when the first had its result already."""
        store.import_file(session(*WORK[:5], WORK[6]))
        done = store.import_file(session(*WORK))
        assert said(store, "list-the-files")[1:4] == [
            ("assistant", ["thinking", "text", "tool_use", "tool_use"]),
            ("tool", ["tool_result"]),
            ("tool", ["tool_result"]),
        ]
        assert store.find("claude-code:a1").meta.key == "claude-code:a1;2"
        assert done.added == 4
        with unchanged(store):
            assert store.import_file(session(*WORK)).added == 0

    def test_files_share_lines_and_lean_on_one_another(self, store: Store) -> None:
        other = [{**each, "sessionId": "other"} for each in (line("user", "u2", "a5", "From elsewhere"),)]
        copied = [{**each, "sessionId": "copy"} for each in (*WORK[1:], line("user", "u7", "a5", "Resumed"))]
        for each in (WORK, other, copied):
            store.import_file(session(*each))
        assert store.stats().turns == 7
        assert texts(store, "from-elsewhere")[-2:] == ["Two files.", "From elsewhere"]
        assert texts(store, store.conversations.find("claude-code:copy").name or "")[-1] == "Resumed"

    def test_a_dry_run_counts_and_stores_nothing(self, store: Store) -> None:
        with unchanged(store):
            done = store.import_file(session(*WORK), dry_run=True)
        assert (done.trees, done.messages, done.added, done.bookmarks) == (1, 5, 5, 1)


class TestBrokenFiles:
    def test_a_broken_line_costs_itself_and_is_named(self, store: Store) -> None:
        told: list[str] = []
        file = session(
            *WORK[:2],
            ["no object"],
            line("user", "u5", "u1", [{"type": "odd", "value": json.loads("[" * 200 + "]" * 200)}]),
            *WORK[2:],
        )
        file = io.BytesIO(file.getvalue().replace(b'["no object"]', b'{"type": "user", "uuid":\n["no object"]'))
        done = store.import_file(file, "claude-code", told=lambda note: told.append(str(note)))
        assert (done.broken, done.added) == (3, 5)
        broken = [each for each in told if ": broken: " in each]
        assert [each.split(":")[0] for each in broken] == [f"the input, line {number}" for number in (3, 4, 5)]

    def test_a_half_written_last_line_is_left_out_and_read_later(self, store: Store) -> None:
        whole = session(*WORK).getvalue()
        done = store.import_file(io.BytesIO(whole[:-20]), "claude-code")
        assert (done.broken, done.unmapped["half-written last line (left out)"]) == (0, 1)
        assert store.import_file(io.BytesIO(whole), "claude-code").added == 1

    def test_keys_among_what_is_kept_are_hidden_and_half_characters_replaced(self, store: Store) -> None:
        key = "sk-proj-0123456789abcdefghij"
        record = line("user", "k1", None, "x \ud800 y", toolUseResult={"stdout": key, "apiKey": key})
        done = store.import_file(session(record))
        assert store.get("@").meta.app["claude-code"]["toolUseResult"] == {
            "stdout": "<hidden: it looked like a key>", "apiKey": "<hidden: it looked like a key>",
        }  # fmt: skip
        assert store.text("@") == "x \ufffd y"
        assert done.unmapped["lone surrogates became U+FFFD"] == 1

    @pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 5000])
    def test_a_number_that_nothing_holds_costs_no_message_and_becomes_text(self, store: Store, number: str) -> None:
        records = (
            line("user", "n1", None, "x", toolUseResult={"lines": "NUMBER"}),
            answer("n2", "n1", "m", call("c1", "NUMBER")),
        )
        file = io.BytesIO(session(*records).getvalue().replace(b'"NUMBER"', number.encode()))
        done = store.import_file(file, "claude-code")
        said, kept = store.resolve("@").messages[1].content[0], store.log()[-1].meta.app["claude-code"]
        assert (said.input, kept["toolUseResult"]) == ({"command": number}, {"lines": number})
        assert (done.broken, done.added) == (0, 2)
        assert {what: count for what, count in done.unmapped.items() if "became" in what} == {
            "numbers that are too large became text": 2
        }

    def test_parents_in_a_circle_end_somewhere(self, store: Store) -> None:
        done = store.import_file(session(line("user", "c1", "c2", "one"), line("user", "c2", "c1", "two")))
        assert done.added == 2


def nested(levels: int) -> dict[str, Any]:
    value: Any = {"stdout": "ok"}
    for _ in range(levels):
        value = {"in": [value]}
    return {"stdout": value}


def test_lines_that_need_no_proof_become_the_turns_that_proven_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = [
        line("user", "u2", "a5", [{"type": "text", "text": "ü"}, {"type": "image", "source": 1.5, "of": [None, True]}]),
        answer("b1", "u2", "msg_3", {"type": "tool_use", "id": "t3", "name": "Bash", "input": {"n": 1e300, "m": -0.0}}),
        result("r3", "b1", "t3", "{[" * 200) | {"toolUseResult": {"lines": [{"at": number} for number in range(200)]}},
        line("user", "u3", "r3", "deep", toolUseResult=nested(20)),
        line("user", "u4", "u3", "deeper", toolUseResult=nested(100)),
        line("user", "u5", "u4", [{"type": "text", "text": "deepest", "more": nested(100)}]),
    ]
    judged: list[bool] = []

    def imported(name: str, judge: Callable[[bytes, Any], bool]) -> tuple[Any, ...]:
        monkeypatch.setattr(
            json_records, "is_sound", lambda text, value: (judged.append(judge(text, value)), judged[-1])[1]
        )
        with Store.open(tmp_path / f"{name}.db") as store:
            done = [store.import_file(session(*records), format="claude-code") for records in (WORK, [*WORK, *odd])]
            said = [
                (turn.digest, turn.meta.app, turn.meta.system, store.payload(turn.id)) for turn in store.log(limit=99)
            ]
            return [replace(each, tips=()) for each in done], said

    fast = imported("fast", is_sound)
    assert set(judged) == {True, False}
    assert fast == imported("careful", lambda text, value: False)
    assert [done.broken for done in fast[0]] == [0, 2]
    assert len(fast[1]) > 6


class TestErased:
    """The title and the name of a session are made of its first words."""

    def test_its_title_goes_with_the_words_that_it_repeats_and_stays_away(self, store: Store) -> None:
        store.import_file(session(*WORK))
        store.conversations.set("list-the-files", title="List the files, please")
        store.erase(store.find("claude-code:u1").id, repeats=True, reason="asked for")
        store.import_file(session(*WORK))
        record = store.conversations.get("list-the-files").record
        assert (record.title, "title" in record.app["import"]) == ("", False)

    @pytest.mark.parametrize("title", ["List the f…", "list  the f...", "The files …"])
    def test_so_does_a_title_that_was_cut(self, store: Store, title: str) -> None:
        turn = store.add_turn("List the files", bookmark="main")
        store.conversations.set("main", title=title)
        store.erase(turn.id, repeats=True, reason="asked for")
        assert store.conversations.get("main").record.title == ""

    def test_a_whole_session_gets_no_title_and_no_name_again(self, store: Store) -> None:
        store.import_file(session(*WORK))
        store.erase("list-the-files", scope="thread", reason="asked for")
        assert store.import_file(session(*WORK)).bookmarks == 0
        assert list(store.bookmarks) == []
        longer = (*WORK, line("user", "u9", "a5", "And now?"))
        for _ in range(2):
            store.import_file(session(*longer))
            [name] = store.bookmarks
            record = store.conversations.get(name).record
            assert (name, record.title, "title" in record.app["import"]) == ("claude-code", "", False)
