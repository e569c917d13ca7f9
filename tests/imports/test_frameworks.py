"""Agents SDK, LangGraph and pydantic-ai: files that they wrote themselves (``fixtures/README.md``), and bad ones."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headish import Store
from headish.errors import InvalidImport
from headish.imports.notes import ImportNote
from headish.values.blocks import ProviderBlock, Text

FIXTURES = Path(__file__).parent / "fixtures"
Load = Callable[..., Path]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A dump as a database, after further statements."""

    def make(name: str, *statements: tuple[str, tuple[Any, ...]]) -> Path:
        path = tmp_path / f"{name}.db"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript((FIXTURES / f"{name}.sql").read_text("utf-8"))
            for statement, values in statements:
                connection.execute(statement, values)
            connection.commit()
        return path

    return make


def told(store: Store, headish: str) -> list[tuple[str | None, list[str]]]:
    return [(each.role, [to["type"] for to in each.to_dict()["content"]]) for each in store.resolve(headish).messages]


def texts(store: Store, headish: str) -> list[str]:
    return [each.text for each in store.resolve(headish).messages]


class TestAgents:
    def test_a_session_is_a_conversation_and_each_item_a_turn(self, memory: Store, load: Load) -> None:
        done = memory.import_file(load("openai-agents"))
        assert (done.trees, done.added, done.bookmarks, done.broken, done.unmapped) == (2, 13, 2, 0, {})
        assert told(memory, "2+2") == [
            ("user", ["text"]), ("assistant", ["thinking"]), ("assistant", ["tool_use"]), ("tool", ["tool_result"]),
            ("assistant", ["text"]), ("user", ["text"]), ("assistant", ["text"]),
        ]  # fmt: skip
        assert memory.conversations.find("openai-agents:plain").name == "2+2"
        assert memory.verify().problems == ()

    def test_items_come_back_equal(self, memory: Store, load: Load) -> None:
        path = load("openai-agents")
        memory.import_file(path)
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT message_data FROM agent_messages WHERE session_id = 'plain' ORDER BY id")
            assert memory.messages("2+2", form="responses") == [json.loads(data) for (data,) in rows]

    def test_branches_share_what_they_have_in_common(self, memory: Store, load: Load) -> None:
        memory.import_file(load("openai-agents"))
        assert texts(memory, "capital-of-peru") == ["Capital of Peru?", "Lima.", "And Ecuador?", "Quito."]
        assert texts(memory, memory.find("openai-agents:forked:11").id)[1:] == ["Lima.", "And Chile?", "Santiago."]
        usage = memory.find("openai-agents:forked:13").meta.reply["usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (10, 4)

    def test_a_session_that_went_on_adds_its_tail_and_moves_the_name(self, memory: Store, load: Load) -> None:
        memory.import_file(load("openai-agents"))
        item = '{"role": "user", "content": "One more"}'
        more = "INSERT INTO agent_messages VALUES (20, 'plain', ?, '2026-11-22 12:30:00')"
        done = memory.import_file(load("openai-agents", (more, (item,))))
        assert (done.added, done.bookmarks) == (1, 1)
        assert texts(memory, "2+2")[-1] == "One more"

    @pytest.mark.parametrize("data", ["no json", "[1]", "5", "\x00", "x" * 100])
    def test_a_broken_row_costs_itself(self, memory: Store, load: Load, data: str) -> None:
        notes: list[ImportNote] = []
        bad = ("UPDATE agent_messages SET message_data = ? WHERE id = 2", (data,))
        done = memory.import_file(load("openai-agents", bad), told=notes.append)
        assert (done.broken, done.added) == (1, 12)
        assert notes[0].where == "session plain, row 2"
        assert told(memory, "2+2")[1] == ("assistant", ["tool_use"])

    def test_encrypted_items_are_left_out_and_counted(self, memory: Store, load: Load) -> None:
        hidden = ("UPDATE agent_messages SET message_data = ?", ('{"__enc__": 1, "v": 1, "payload": "x"}',))
        done = memory.import_file(load("openai-agents", hidden))
        assert (done.trees, done.unmapped) == (0, {"encrypted item (left out)": 13})

    def test_rows_of_odd_types_and_of_other_sessions_stop_nothing(self, memory: Store, load: Load) -> None:
        done = memory.import_file(
            load(
                "openai-agents",
                ("INSERT INTO agent_messages VALUES (30, ?, '{}', 5)", (b"\xff",)),
                ("INSERT INTO agent_messages VALUES (31, 7, '{}', 5)", ()),
                ("INSERT INTO message_structure VALUES (90, 'forked', 1, 'main', 'user', 0, 1, 1, NULL, NULL)", ()),
                ("INSERT INTO message_structure VALUES (91, 'forked', 9, 'odd', 'user', 1, 1, 1, NULL, NULL)", ()),
                ("INSERT INTO message_structure VALUES (92, 'forked', 9, 'odd', 'user', 2, 1, 1, NULL, NULL)", ()),
                ("UPDATE message_structure SET user_turn_number = 'x', branch_id = 5 WHERE id = 4", ()),
            )
        )
        assert (done.trees, done.added, done.broken) == (3, 15, 1)
        assert texts(memory, memory.find("openai-agents:forked:9@odd").id) == ["Lima."]
        assert memory.verify().problems == ()


class TestLangGraph:
    def test_the_lists_of_all_checkpoints_are_one_tree(self, memory: Store, load: Load) -> None:
        done = memory.import_file(load("langgraph"))
        assert (done.trees, done.added, done.bookmarks, done.broken) == (2, 13, 2, 0)
        assert texts(memory, "2+2") == [
            "Be brief.", "2+2?", "Let me add.", "", "Four.", "Another way, please", "Yes: Another way",
        ]  # fmt: skip
        heads = {texts(memory, each.id)[-2] for each in memory.heads()}
        assert heads == {"Thanks", "Another way", "Another way, please", "Only this"}
        call = memory.find("langgraph:t1:ai-4")
        assert call.meta.reply == {
            "provider": "langchain", "model": "m-1", "stop": "stop",
            "usage": {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 3},
        }  # fmt: skip

    def test_other_channels_are_kept_as_data_and_no_class_is_looked_up(self, memory: Store, load: Load) -> None:
        memory.import_file(load("langgraph"))
        values = memory.conversations.find("langgraph:t1").record.app["langgraph"]["values"]
        assert values == {
            "topic": "sums",
            "seen": [{"$": "builtins.set", "value": [1, 2]}],
            "at": {"$": "datetime.datetime", "value": "2026-01-02T00:00:00"},
        }

    def test_a_second_import_stores_nothing_and_a_new_checkpoint_its_tail(self, memory: Store, load: Load) -> None:
        memory.import_file(load("langgraph"))
        assert memory.import_file(load("langgraph")).added == 0
        more = {
            "id": "x",
            "channel_values": {"messages": [message("human", "h9", "New")]},
            "ts": "2026-12-01T00:00:00Z",
        }
        row = ("INSERT INTO checkpoints VALUES ('t2', '', 'z', NULL, 'msgpack', ?, '{}')", (pack(more),))
        assert memory.import_file(load("langgraph", row)).added == 1

    @pytest.mark.parametrize(
        ("kind", "data"),
        [
            ("pickle", b"cos\nsystem\n(S'touch /tmp/headish-pwned'\ntR."), ("msgpack", b"\xc1"), ("msgpack", b""),
            ("msgpack", 5), ("msgpack", b"\x91" * 50_000), ("msgpack+aes", b"x"), ("json", b"{"), (None, b"x"),
            ("msgpack", b"\xdd\xff\xff\xff\xff"), ("json", b'{"channel_values": 5}'), ("msgpack", b"\x81\xa1\xd8\x01"),
            ("msgpack", b"\xc9\xff\xff\xff\xff\x05"),
        ],
    )  # fmt: skip
    def test_a_value_that_is_no_data_costs_its_checkpoint(
        self, memory: Store, load: Load, kind: str | None, data: Any
    ) -> None:
        row = ("INSERT INTO checkpoints VALUES ('t1', '', '2', NULL, ?, ?, '{}')", (kind, data))
        done = memory.import_file(load("langgraph", row))
        assert (done.broken, done.added) == (1, 13)
        assert not Path("/tmp/headish-pwned").exists()

    def test_an_object_is_never_revived_whatever_it_says(self, memory: Store, load: Load, tmp_path: Path) -> None:
        evil = msgspec.msgpack.Ext(0, pack(["os", "system", f"touch {tmp_path}/pwned"]))
        value = {"channel_values": {"messages": [message("human", "h1", "Hi")], "evil": evil}, "ts": "2026-01-01"}
        row = ("INSERT INTO checkpoints VALUES ('t9', '', '1', NULL, 'msgpack', ?, '{}')", (pack(value),))
        assert memory.import_file(load("langgraph", row)).broken == 0
        kept = memory.conversations.find("langgraph:t9").record.app["langgraph"]["values"]["evil"]
        assert kept == {"$": "os.system", "value": f"touch {tmp_path}/pwned"}
        assert not (tmp_path / "pwned").exists()

    def test_objects_inside_objects_do_not_swell(self, memory: Store, load: Load) -> None:
        value = pack("x" * 100_000)
        for _ in range(30):
            value = pack(msgspec.msgpack.Ext(5, value))
        row = ("INSERT INTO checkpoints VALUES ('t1', '', '2', NULL, 'msgpack', ?, '{}')", (value,))
        notes: list[ImportNote] = []
        assert memory.import_file(load("langgraph", row), told=notes.append).broken == 1
        assert [note.what for note in notes if note.kind == "broken"] == ["objects are nested too deep"]

    def test_constructors_of_json_are_messages_as_well(self, memory: Store, load: Load) -> None:
        said = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
                "kwargs": {"content": "As JSON", "type": "human", "id": "j1"}}  # fmt: skip
        data = json.dumps({"channel_values": {"history": [said]}, "ts": "2026-01-01T00:00:00Z"}).encode()
        row = ("INSERT INTO checkpoints VALUES ('t9', 'sub:1', '1', NULL, 'json', ?, '{}')", (data,))
        memory.import_file(load("langgraph", row))
        assert memory.find("langgraph:t9/sub:1#history:j1").text == "As JSON"
        assert "subgraph" in memory.conversations.find("langgraph:t9/sub:1#history").record.tags

    def test_content_of_every_provider_is_read(self, memory: Store, load: Load) -> None:
        parts = [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "reasoning", "reasoning": "so"},
            {"type": "text", "text": "See"}, {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}, {"type": "from the future", "x": 1},
            "plain",
        ]  # fmt: skip
        said = message("ai", "a1", parts, tool_calls=[{"name": "add", "args": {"a": 1}, "id": "c1"}],
                       invalid_tool_calls=[{"name": "add", "args": "{", "id": "c2"}])  # fmt: skip
        value = {"channel_values": {"messages": [said]}, "ts": "2026-01-01T00:00:00Z"}
        row = ("INSERT INTO checkpoints VALUES ('t9', '', '1', NULL, 'msgpack', ?, '{}')", (pack(value),))
        memory.import_file(load("langgraph", row))
        kinds = [block["type"] for block in memory.resolve("langgraph-t9").messages[0].to_dict()["content"]]
        assert kinds == ["thinking", "thinking", "text", "document", "tool_use", "provider", "text", "tool_use"]


def pack(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def message(kind: str, id: str, content: Any, **fields: Any) -> msgspec.msgpack.Ext:
    inner = [f"langchain_core.messages.{kind}", "Message", {"type": kind, "id": id, "content": content, **fields}, "m"]
    return msgspec.msgpack.Ext(5, pack(inner))


class TestPydanticAI:
    def test_a_request_is_a_turn_for_each_role_and_a_response_is_one(self, memory: Store) -> None:
        done = memory.import_file(FIXTURES / "pydantic-ai.json")
        assert (done.trees, done.added, done.bookmarks, done.broken, done.unmapped) == (1, 9, 1, 0, {})
        assert told(memory, "2+2") == [
            ("system", ["text"]), ("user", ["text", "document", "document"]),
            ("assistant", ["thinking", "text", "tool_use", "tool_use"]), ("tool", ["tool_result", "tool_result"]),
            ("assistant", ["tool_use"]), ("tool", ["tool_result"]), ("assistant", ["text"]), ("user", ["text"]),
            ("assistant", ["text"]),
        ]  # fmt: skip
        _, refused = memory.resolve("2+2").messages[3].to_dict()["content"]
        assert refused["is_error"] is True
        assert memory.import_file(FIXTURES / "pydantic-ai.json").added == 0

    def test_a_history_that_grew_and_one_that_was_cut_share_their_beginning(self, memory: Store) -> None:
        whole = json.loads((FIXTURES / "pydantic-ai.json").read_bytes())
        for length, added in ((2, 3), (6, 4), (len(whole), 2)):
            done = memory.import_file(io.BytesIO(json.dumps(whole[:length]).encode()), "pydantic-ai")
            assert (done.added, len(memory.bookmarks)) == (added, 1)
        fork = [*whole[:6], {**whole[6], "parts": [{"part_kind": "user-prompt", "content": "Else?"}]}]
        assert memory.import_file(io.BytesIO(json.dumps(fork).encode()), "pydantic-ai").added == 1
        assert len(memory.heads()) == 2

    def test_histories_of_one_conversation_in_one_file_share_their_beginning(self, memory: Store) -> None:
        whole = json.loads((FIXTURES / "pydantic-ai.json").read_bytes())
        file = io.BytesIO(json.dumps([whole[:2], whole[:6], whole]).encode())
        done = memory.import_file(file, "pydantic-ai")
        assert (done.trees, done.added, len(memory.heads()), memory.bookmarks.keys()) == (3, 9, 1, {"2+2"})

    def test_histories_on_lines_in_a_list_and_in_objects_are_read(self, memory: Store) -> None:
        def history(words: str) -> list[Any]:
            return [
                {"kind": "request", "conversation_id": words, "parts": [{"part_kind": "user-prompt", "content": words}]}
            ]

        lines = b"\n".join(json.dumps(each).encode() for each in (history("one"), {"messages": history("two")})) + b"\n"
        assert memory.import_file(io.BytesIO(lines)).trees == 2
        assert memory.import_file(io.BytesIO(json.dumps([history("three"), history("four")]).encode())).trees == 2
        assert sorted(memory.bookmarks) == ["four", "one", "three", "two"]

    def test_lines_that_are_longer_than_a_piece_of_the_file_are_all_read(self, memory: Store) -> None:
        part = {"part_kind": "user-prompt", "content": "x" * 1_200_000}
        line = json.dumps([{"kind": "request", "parts": [part]}]).encode()
        done = memory.import_file(
            io.BytesIO(b"\n" + line + b"\n" + line.replace(b"xx", b"xy", 1) + b"\n"), "pydantic-ai"
        )
        assert done.trees == 2

    def test_what_has_no_block_is_kept_whole_and_counted(self, memory: Store) -> None:
        part = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {}}
        given = [{"kind": "response", "parts": [part, 5]}, {"kind": "letter"}]
        done = memory.import_file(io.BytesIO(json.dumps(given).encode()), "pydantic-ai")
        assert (done.broken, done.added) == (1, 1)
        assert done.unmapped == {
            "part of kind builtin-tool-call (kept in meta)": 1,
            "part of kind unknown (kept in meta)": 1,
        }
        [turn] = memory.heads()
        assert (
            turn.content[0].to_dict()["data"] == part
            if hasattr(turn.content[0], "to_dict")
            else turn.content[0].data == part
        )


def test_another_database_is_refused_by_name(memory: Store, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    for format in ("openai-agents", "langgraph", "open-webui"):
        with pytest.raises(InvalidImport, match="it is a SQLite database, but"):
            memory.import_file(path, format)
        with pytest.raises(InvalidImport, match="give its path"):
            memory.import_file(io.BytesIO(path.read_bytes()), format)


@pytest.mark.parametrize("odd", [{}, [], None, 1, True])
def test_a_part_of_pydantic_ai_whose_kind_is_no_word_is_kept_as_it_is(memory: Store, odd: object) -> None:
    part = {"content": [{"kind": odd, "url": "https://example.org/a.png"}, "look"], "part_kind": "user-prompt"}
    told = json.dumps([{"parts": [part], "kind": "request"}]).encode()
    memory.import_file(io.BytesIO(told), "pydantic-ai")
    [kept, said] = memory.blocks("@")
    assert isinstance(kept, ProviderBlock)
    assert kept.data["url"] == "https://example.org/a.png"
    assert said == Text("look")
