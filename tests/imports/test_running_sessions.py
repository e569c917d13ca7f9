"""Sessions that are imported while they are written: the end is what one import of the whole file gives."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headish import Store
from headish.imports import source_files
from imports import test_claude_code as claude
from imports import test_codex as codex
from imports import test_gemini_cli as gemini
from imports import test_llm as llm

Write = Callable[[Path, int], None]


@pytest.fixture(autouse=True)
def written() -> None:
    """Files are taken for what they are: just written."""


class Kind(NamedTuple):
    """A kind of session: the name of its file, and what is in it after each step."""

    name: str
    steps: Sequence[Callable[[Path], None]]


def age(path: Path) -> None:
    """Nobody has written to the file for a while."""
    os.utime(path, (1_700_000_000, 1_700_000_000))


def lines(name: str, records: Sequence[Any]) -> Kind:
    def append(record: Any) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            with path.open("ab") as file:
                file.write(json.dumps(record).encode() + b"\n")

        return write

    return Kind(name, [append(each) for each in records])


def statements(name: str, scripts: Sequence[str]) -> Kind:
    def run(script: str) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript(script)

        return write

    return Kind(name, [run(each) for each in scripts])


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


PLAIN = [
    claude.line("user", "u1", None, "Why two tides?"),
    claude.answer("a1", "u1", "msg_1", {"type": "thinking", "thinking": "So …", "signature": "c2ln"}),
    claude.answer("a2", "a1", "msg_1", text("Because …")),
    claude.line("user", "u2", "a2", "And why not three?"),
    claude.answer("a3", "u2", "msg_2", text("Two bulges.")),
]
TOOLS = [
    *claude.WORK[:5],
    claude.WORK[6],
    claude.WORK[5],
    *claude.WORK[7:],
    claude.line("progress", "p1", "a5"),
    claude.line("user", "u9", "p1", "Sort them"),
    claude.answer("b1", "u9", "msg_3", text("Let me.")),
    claude.answer("b2", "b1", "msg_3", claude.call("t3", "sort")),
    claude.result("r3", "b2", "t3", "b a"),
    claude.answer("b3", "r3", "msg_4", text("Sorted.")),
    claude.line("system", "y1", "b3", subtype="turn_duration"),
]
BOUNDARY = claude.line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a5")
COMPACTED = [
    *claude.WORK,
    BOUNDARY,
    claude.line("user", "s1", "b1", "So far: files.", isCompactSummary=True),
    claude.line("user", "u3", "s1", "Go on"),
    claude.answer("c1", "u3", "msg_5", {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}),
    claude.answer("c2", "c1", "msg_5", text("Done.")),
]


def agent(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "isSidechain": True, "agentId": "f00"}


AGENTS = [
    *claude.WORK[:6],
    agent(claude.line("user", "g1", None, "Find the tests")),
    agent(claude.answer("g2", "g1", "msg_7", {"type": "thinking", "thinking": "…", "signature": "c2ln"})),
    agent(claude.answer("g3", "g2", "msg_7", claude.call("t7"))),
    agent(claude.result("g4", "g3", "t7")),
    agent(claude.answer("g5", "g4", "msg_8", text("There."))),
    *claude.WORK[6:],
]
ROLLOUT = [
    *codex.WORK,
    codex.tokens(200, 100, 9),
    codex.user("More"),
    codex.assistant("No."),
    codex.tokens(300, 200, 5),
]
GEMINI = [*gemini.WORK, gemini.say("4", "user", "Sort"), gemini.model("5", "Sor"), gemini.model("5", "Sorted.")]
LLM = [
    llm.OLD,
    *(
        "INSERT INTO conversations VALUES ('01a', 'Sums', 'm');"
        * (number == 1)
        + f"INSERT INTO responses VALUES ('r{number}', 'm', 'Sum {number}?', NULL, NULL, NULL, '{number}', NULL,"
        f" '01a', 9, '2025-01-02T03:04:0{number}', 3, 2, NULL, NULL, NULL, NULL);"
        for number in range(1, 5)
    ),
]
ITEMS = [
    {"role": "user", "content": "2+2?"},
    {"type": "function_call", "call_id": "k", "name": "add", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "k", "output": "4"},
    {"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": "Four."}]},
]
AGENTS_SDK = [
    "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TEXT, updated_at TEXT);"
    "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TEXT);"
    "INSERT INTO agent_sessions VALUES ('s', '2026-01-02', '2026-01-02');",
    *(
        f"INSERT INTO agent_messages VALUES ({number}, 's', '{json.dumps(item)}', '2026-01-02 03:04:0{number}');"
        for number, item in enumerate(ITEMS, 1)
    ),
]
SESSIONS = {
    "Claude Code": lines("a.jsonl", PLAIN),
    "Claude Code with tools": lines("a.jsonl", TOOLS),
    "Claude Code with sub-agents": lines("a.jsonl", AGENTS),
    "Claude Code, compacted": lines("a.jsonl", COMPACTED),
    "Codex": lines(f"rollout-{codex.SESSION}.jsonl", ROLLOUT),
    "Gemini CLI": lines("session-g.jsonl", GEMINI),
    "Gemini CLI, results twice": lines("session-t.jsonl", [*gemini.TWICE, *GEMINI[-3:]]),
    "llm": statements("logs.db", LLM),
    "OpenAI Agents": statements("agents.db", AGENTS_SDK),
}


def outcome(store: Store) -> dict[str, Any]:
    """What people see: the threads, their names, what they cost."""
    heads = [[(role, text) for role, text in told(store, head.id)] for head in store.heads()]
    counts = store.usage(None, by="model")
    return {
        "turns": sum(1 for _ in shown(store)),
        "heads": sorted(heads),
        "named": sorted(told(store, name) for name in store.bookmarks),
        "tokens": sorted((str(each.key), each.replies, str(each.usage)) for each in counts),
        "branches": sorted(str(each.branches) for each in store.conversations.list().entries),
    }


def is_count(record: dict[str, Any]) -> bool:
    return record["payload"].get("type") == "token_count"


def told(store: Store, headish: str) -> list[tuple[str | None, str]]:
    return [(str(each.role), json.dumps(each.to_dict()["content"])) for each in store.resolve(headish).messages]


def shown(store: Store) -> Iterator[Any]:
    roots = {store.log(head.id)[-1].id for head in store.heads()}
    for root in sorted(roots):
        yield from store.tree(root)


@pytest.mark.parametrize("kind", SESSIONS)
def test_at_every_line_the_end_is_that_of_one_import(memory: Store, tmp_path: Path, kind: str) -> None:
    name, steps = SESSIONS[kind]
    path = tmp_path / name
    for write in steps:
        write(path)
        memory.import_changed(path)
    age(path)
    memory.import_changed(path)
    with Store.open(":memory:") as once:
        once.import_file(path)
        assert outcome(memory) == outcome(once)
        assert memory.stats().turns == once.stats().turns
    assert memory.import_changed(path).messages == 0


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_pause_at_any_line_makes_no_branch(memory: Store, tmp_path: Path, kind: str) -> None:
    """What was long quiet is imported as it is; if it goes on, what only grew takes the place of the half."""
    name, steps = SESSIONS[kind]
    # An answer of Codex has its count of tokens in the same second: what was noted of a message is not noted anew.
    for cut in (each for each in range(1, len(steps)) if kind != "Codex" or not is_count(ROLLOUT[each])):
        with Store.open(":memory:") as paused, Store.open(":memory:") as once:
            path = tmp_path / str(cut) / name
            path.parent.mkdir()
            for write in steps[:cut]:
                write(path)
            age(path)
            paused.import_changed(path)
            for write in steps[cut:]:
                write(path)
            age(path)
            paused.import_changed(path)
            once.import_file(path)
            assert outcome(paused) == outcome(once), f"after {cut} of {len(steps)} lines"
            assert paused.verify().problems == ()


def test_the_last_answer_of_a_session_that_runs_is_held_back_and_told(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for write in SESSIONS["Claude Code"].steps:
        write(path)
    notes: list[str] = []
    done = store.import_file(path, told=lambda note: notes.append(str(note)))
    assert (done.messages, done.held_back) == (3, 1)
    assert [each for each in notes if "may still be written" in each]
    assert store.import_changed(path).held_back == 1
    assert store.import_changed(path).messages == 0
    age(path)
    assert store.import_changed(path).added == 1
    assert store.text("@") == "Two bulges."


def test_an_answer_with_results_between_its_lines_is_told_by_its_first_line(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for number in range(3, 9):
        for write in lines(path.name, TOOLS[:number]).steps:
            write(path)
        notes: list[str] = []
        assert store.import_file(path, told=lambda note, notes=notes: notes.append(str(note))).held_back == 1
        assert [each for each in notes if "answer a1: left out" in each]
        path.unlink()


def test_an_answer_is_whole_where_the_session_says_that_it_ended_there(store: Store, tmp_path: Path) -> None:
    """As @anthropic-ai/claude-code 2.1.197 writes it behind an answer, when a prompt is done."""
    path = tmp_path / "a.jsonl"
    for records, held in ((PLAIN, 1), ([{"type": "last-prompt", "lastPrompt": "And", "leafUuid": "a2"}], 1),
                          ([{"type": "last-prompt", "lastPrompt": "And", "leafUuid": "a3"}], 0)):  # fmt: skip
        for write in lines("a.jsonl", records).steps:
            write(path)
        assert store.import_changed(path).held_back == held
    assert store.text("@") == "Two bulges."


def test_what_was_rewound_behind_an_answer_that_is_held_back_waits_with_it(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "session-r.jsonl"
    for write in lines(path.name, [*gemini.WORK, gemini.say("4", "user", "How large?"), {"$rewindTo": "4"}]).steps:
        write(path)
    assert store.import_changed(path).held_back == 1
    assert [turn.meta.role for turn in store.log("@")] == ["tool", "assistant", "user"]
    age(path)
    assert store.import_changed(path).added == 2


def test_what_continues_an_answer_that_is_held_back_waits_with_it(memory: Store, tmp_path: Path) -> None:
    """Given out before it, it would continue what is before the answer, and its key would keep it there."""
    path = tmp_path / "a.jsonl"
    records = [
        claude.line("user", "u1", None, "Sort and count"),
        claude.answer("a1", "u1", "msg_1", claude.call("t1", "sort")),
        claude.line("user", "n1", "a1", "How to count.", isMeta=True),
        claude.line("progress", "p1", "n1"),
        claude.line("user", "n2", "p1", "And then?"),
        claude.answer("a2", "u1", "msg_1", claude.call("t2", "count")),
    ]
    for number, write in enumerate(lines(path.name, records).steps):
        write(path)
        if number in (1, 5):
            done = memory.import_changed(path)
            assert (done.held_back, memory.stats().turns) == (1, 1)
    age(path)
    assert memory.import_changed(path).added == 3
    notes = memory.find("claude-code:n2")
    assert notes is not None
    assert [turn.meta.key for turn in memory.log(notes.id)] == [
        f"claude-code:{each}" for each in ("n2", "n1", "a1", "u1")
    ]


def test_a_file_that_turns_quiet_is_read_once_more_without_a_change(
    memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    for write in SESSIONS["Claude Code"].steps:
        write(path)
    memory.import_changed(path)
    monkeypatch.setattr(source_files, "QUIET_SECONDS", 0)
    assert memory.import_changed(path).added == 1
    assert memory.import_changed(path).messages == 0


class TestHalves:
    """What was stored of an answer before there was more of it."""

    @pytest.fixture
    def grown(self, store: Store, tmp_path: Path) -> Store:
        path = tmp_path / "a.jsonl"
        for write in SESSIONS["Claude Code"].steps[:2]:
            write(path)
        age(path)
        store.import_file(path)
        for write in SESSIONS["Claude Code"].steps[2:]:
            write(path)
        age(path)
        store.import_file(path)
        return store

    def test_they_are_no_branches_and_cost_nothing(self, grown: Store) -> None:
        half, whole = grown.find("claude-code:a1;2").meta.system["supersedes"], grown.find("claude-code:a1")
        assert (whole.meta.key, whole.meta.system["grew"]) == ("claude-code:a1;2", True)
        assert [head.id for head in grown.heads()] == [grown.get("@").id]
        assert {head.id for head in grown.heads(versions=True)} == {grown.get("@").id, half}
        assert [head.id for head in grown.heads(by="tip", limit=1, versions=True, after=grown.get("@").id)] == [half]
        assert half not in {each.id for each in grown.tree("@")}
        assert half in {each.id for each in grown.tree("@", versions=True)}
        assert half not in {each.id for each in grown.tree("@", limit=3)}
        assert [each.id for each in grown.siblings(whole.id).turns] == [whole.id]
        assert [each.id for each in grown.siblings(whole.id, versions=True).turns] == [half, whole.id]
        assert [each.id for each in grown.siblings(half).turns] == [half, whole.id]
        assert grown.versions([whole.id]) == {}
        [count] = grown.usage(None, by="model")
        assert (count.replies, count.usage.output_tokens) == (2, 14)
        assert all(each.version == each.versions == 1 and not each.more for each in grown.tree("@"))

    def test_counts_and_children_leave_them_out_too(self, grown: Store) -> None:
        whole, half = grown.find("claude-code:a1").id, grown.find("claude-code:a1").meta.system["supersedes"]
        parent, shown = grown.get(half).meta.continues[0], len(grown.tree("@"))
        assert (grown.stats().turns, grown.stats().heads, grown.stats().roots) == (shown, 1, 1)
        stored = grown.stats(versions=True)
        assert (stored.turns, stored.heads, stored.roots) == (shown + 1, 2, 1)
        assert [each.id for each in grown.children(parent)] == [whole]
        assert [each.id for each in grown.children(parent, versions=True)] == [half, whole]
        assert [each.id for each in grown.children(parent, limit=1)] == [whole]
        assert grown.children(parent, after=whole, limit=1) == []
        for name in list(grown.bookmarks):
            grown.bookmarks.remove(name)
        other = grown.add_turn("Another conversation").id
        entries = {each.conversation.turn: each for each in grown.conversations.list().entries}
        assert [(each.turns, each.branches) for each in entries.values()] == [(1, 1), (shown, 1)]
        grown.add_turn("And then?", continues=half)
        [mine] = [each for each in grown.conversations.list().entries if each.conversation.first != other]
        assert (mine.turns, mine.branches) == (shown + 2, 2)
        assert grown.stats().turns == grown.stats(versions=True).turns == shown + 3
        assert [each.id for each in grown.children(parent)] == [half, whole]

    def test_a_half_behind_a_half_is_left_out_as_well(self, store: Store, tmp_path: Path) -> None:
        """A result that is stored again behind the whole answer grew, too."""
        path = tmp_path / "a.jsonl"
        for write in SESSIONS["Claude Code with tools"].steps:
            write(path)
            age(path)
            store.import_file(path)
        shown, stored = store.stats(), store.stats(versions=True)
        halves = stored.turns - shown.turns
        assert (shown.turns, shown.heads) == (len(store.tree("@")), len(store.heads()))
        assert halves > stored.heads - shown.heads > 0, "no half stands behind another one"

    def test_a_search_finds_the_last_version(self, grown: Store) -> None:
        fields = ["text", "reasoning"]
        whole = grown.find("claude-code:a1")
        assert [hit.turn.id for hit in grown.search("so", fields=fields)] == [whole.id]
        assert len(grown.search("so", fields=fields, versions=True)) == 2
        assert [hit.turn.id for hit in grown.search("so", fields=fields, limit=1, order="time")] == [whole.id]

    def test_what_continues_a_half_stays_where_it_is_and_the_half_is_seen_above_it(self, grown: Store) -> None:
        half = grown.find("claude-code:a1").meta.system["supersedes"]
        mine = grown.add_turn("And then?", continues=half).id
        assert {half, mine} <= {each.id for each in grown.tree("@")}
        assert mine in {head.id for head in grown.heads()}
        assert [turn.id for turn in grown.log(mine)][:2] == [mine, half]

    def test_an_edit_is_no_half(self, store: Store) -> None:
        asked = store.add_turn("Why?", bookmark="b").id
        answer = store.add_turn("Because", role="assistant", continues=asked).id
        store.edit(answer, "Because of the moon")
        assert len(store.heads()) == 2
        assert len(store.siblings(answer).turns) == 2
