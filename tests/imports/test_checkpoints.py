"""LangGraph's checkpoints on a PostgreSQL server, and channels of which only writes are kept, in both databases.

The rows are written here as LangGraph's savers write them. tests/integrations/langgraph/test_imports.py reads what the
savers themselves wrote.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psycopg
import pytest

from headish import Store
from headish.errors import InvalidArgument, InvalidImport, UnknownFormat
from headish.imports.notes import ImportNote
from headish.imports.readers.frameworks.langgraph import delta_channels
from support.command import Command

Value = Any


def pack(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def ext(code: int, value: Any) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(code, pack(value))


def said(kind: str, id: str, content: str = "") -> msgspec.msgpack.Ext:
    fields = {"type": kind, "id": id, "content": content}
    name = {"human": "HumanMessage", "ai": "AIMessage", "remove": "RemoveMessage"}[kind]
    return ext(5, [f"langchain_core.messages.{kind}", name, fields, "model_construct"])


def snapshot(value: Any) -> msgspec.msgpack.Ext:
    return ext(7, value)


class Rows(Protocol):
    """Writes rows as a saver does; ``address`` is what is imported."""

    address: str

    def step(self, id: str, parent: str | None, values: Mapping[str, Value], *, deltas: tuple[str, ...] = ()) -> None:
        """A checkpoint."""

    def write(self, step: str, task: str, channel: str, value: Value, path: str = "") -> None:
        """What a task wrote behind a checkpoint."""

    def run(self, statement: str) -> None:
        """Any other statement."""


class FileRows:
    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self.run("CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, "
                 "checkpoint, metadata)")  # fmt: skip
        self.run("CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, "
                 "type, value)")  # fmt: skip

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        with closing(sqlite3.connect(self.address)) as connection:
            connection.execute(statement, values)
            connection.commit()

    def step(
        self, id: str, parent: str | None, values: Mapping[str, Value], *, deltas: tuple[str, ...] = (),
        place: tuple[str, str] = ("t", ""),
    ) -> None:  # fmt: skip
        data = pack({"ts": "2026-01-01T00:00:00+00:00", "channel_values": values})
        row = (*place, id, parent, "msgpack", data, json.dumps(metadata_of(deltas)).encode())
        self.run("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def write(self, step: str, task: str, channel: str, value: Value, path: str = "") -> None:
        row = ("t", "", step, task, path, 0, channel, "msgpack", pack(value))
        self.run("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


class ServerRows:
    def __init__(self, url: str) -> None:
        self.address = url.replace("+psycopg", "")
        for statement in TABLES:
            self.run(statement)

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        with psycopg.connect(self.address) as connection:
            connection.execute(statement, values)  # type: ignore[arg-type]

    def step(self, id: str, parent: str | None, values: Mapping[str, Value], *, deltas: tuple[str, ...] = ()) -> None:
        inside = {key: value for key, value in values.items() if value is None or isinstance(value, str | int | float)}
        inside |= {key: True for key, value in values.items() if is_snapshot(value)}
        for channel in values.keys() - inside.keys() | {key for key, value in values.items() if is_snapshot(value)}:
            blob = ("t", "", channel, f"{id}.0", "msgpack", pack(values[channel]))
            self.run("INSERT INTO checkpoint_blobs VALUES (%s, %s, %s, %s, %s, %s)", blob)
        said = {"ts": "2026-01-01T00:00:00+00:00", "channel_values": inside,
                "channel_versions": dict.fromkeys(values, f"{id}.0")}  # fmt: skip
        row = ("t", "", id, parent, None, json.dumps(said), json.dumps(metadata_of(deltas)))
        self.run("INSERT INTO checkpoints VALUES (%s, %s, %s, %s, %s, %s, %s)", row)

    def write(self, step: str, task: str, channel: str, value: Value, path: str = "") -> None:
        row = ("t", "", step, task, 0, channel, "msgpack", pack(value), path)
        self.run("INSERT INTO checkpoint_writes VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", row)


TABLES = (
    "CREATE TABLE checkpoints (thread_id text, checkpoint_ns text, checkpoint_id text, parent_checkpoint_id text, "
    "type text, checkpoint jsonb, metadata jsonb)",
    "CREATE TABLE checkpoint_blobs (thread_id text, checkpoint_ns text, channel text, version text, type text, "
    "blob bytea)",
    "CREATE TABLE checkpoint_writes (thread_id text, checkpoint_ns text, checkpoint_id text, task_id text, "
    "idx integer, channel text, type text, blob bytea, task_path text)",
)  # fmt: skip


def metadata_of(deltas: tuple[str, ...]) -> dict[str, Any]:
    return {"counters_since_delta_snapshot": {name: [1, 1] for name in deltas}} if deltas else {}


def is_snapshot(value: Value) -> bool:
    return isinstance(value, msgspec.msgpack.Ext) and value.code == 7


@pytest.fixture(params=["sqlite", "postgresql"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Rows:
    if request.param == "sqlite":
        return FileRows(tmp_path / "checkpoints.db")
    return ServerRows(request.getfixturevalue("new_postgresql"))


@pytest.fixture
def server(new_postgresql: str) -> ServerRows:
    return ServerRows(new_postgresql)


def texts(store: Store, headish: str) -> list[str]:
    return [each.text for each in store.resolve(headish).messages]


class TestChannelsOfWhichWritesAreKept:
    def test_are_replayed_from_their_snapshots_in_the_order_of_tasks(self, memory: Store, rows: Rows) -> None:
        rows.step("1", None, {})
        rows.write("1", "z", "messages", [said("human", "h", "Hi")], path="~a")
        rows.write("1", "a", "messages", [said("ai", "a", "Yo")], path="~b")
        rows.step("2", "1", {}, deltas=("messages",))
        rows.write("2", "a", "messages", said("human", "h2", "And?"))
        rows.step("3", "2", {"messages": snapshot([said("human", "h", "Hi"), said("ai", "a", "Yo again")])})
        rows.write("3", "a", "messages", [said("human", "h3", "So"), said("remove", "h")])
        rows.step("4", "3", {}, deltas=("messages",))
        done = memory.import_file(rows.address)
        assert (done.broken, done.trees) == (0, 1)
        assert texts(memory, memory.conversations.find("langgraph:t").name) == ["Yo again", "So"]
        assert texts(memory, memory.find("langgraph:t:a").id) == ["Hi", "Yo"]
        assert memory.import_file(rows.address).added == 0

    def test_a_fork_replays_its_own_line_alone_also_when_little_is_remembered(
        self, memory: Store, rows: Rows, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(delta_channels, "KEPT", 1)
        rows.step("1", None, {})
        rows.write("1", "a", "messages", [said("human", "h", "Hi")])
        for number, parent in ((2, 1), (3, 2), (4, 1), (5, 3), (6, 4)):
            rows.step(str(number), str(parent), {}, deltas=("messages",))
            rows.write(str(number), "a", "messages", [said("ai", f"a{number}", f"by {number}")])
        memory.import_file(rows.address)
        heads = [texts(memory, each.id) for each in memory.heads()]
        assert sorted(heads) == [["Hi", "by 2", "by 3"], ["Hi", "by 4"]]

    def test_what_stands_for_a_message_is_one_and_an_overwrite_begins_anew(self, memory: Store, rows: Rows) -> None:
        rows.step("1", None, {})
        rows.write("1", "a", "messages", [said("human", "h", "Gone")])
        rows.write("1", "b", "messages", {"__overwrite__": [{"role": "user", "content": "Hi", "id": "n"}]})
        rows.write("1", "c", "messages", [ext(0, ["builtins", "tuple", ["ai", "Yo"]]), said("ai", "x", "Well")])
        rows.step("2", "1", {}, deltas=("messages",))
        memory.import_file(rows.address)
        assert texts(memory, "hi") == ["Hi", "Yo", "Well"]

    def test_writes_that_only_their_graph_understands_are_kept_as_they_are(self, memory: Store, rows: Rows) -> None:
        rows.step("1", None, {"messages": [said("human", "h", "Hi")]})
        rows.write("1", "a", "log", "first")
        rows.step("2", "1", {"messages": [said("human", "h", "Hi")]}, deltas=("log",))
        rows.write("2", "a", "log", ["second"])
        rows.step("3", "2", {"messages": [said("human", "h", "Hi")]}, deltas=("log",))
        done = memory.import_file(rows.address)
        values = memory.conversations.find("langgraph:t").record.app["langgraph"]["values"]
        assert values == {"log": {"$": "delta", "value": None, "writes": ["first", ["second"]]}}
        assert done.unmapped == {"channel log (kept in meta)": 1}

    def test_checkpoints_whose_parents_lead_in_a_circle_or_nowhere_end_all_the_same(
        self, memory: Store, rows: Rows
    ) -> None:
        for id, parent in (("1", "3"), ("2", "1"), ("3", "2"), ("4", "nobody"), ("5", "5")):
            rows.step(id, parent, {}, deltas=("messages",))
            rows.write(id, "a", "messages", [said("human", f"h{id}", f"by {id}")])
        assert memory.import_file(rows.address).broken == 0
        assert memory.verify().problems == ()


@pytest.mark.parametrize("place", [("t/a", ""), ("t", "b#c"), ("t%2Fa", "")])
def test_places_whose_names_are_alike_are_told_apart(memory: Store, tmp_path: Path, place: tuple[str, str]) -> None:
    rows = FileRows(tmp_path / "checkpoints.db")
    rows.step("1", None, {"messages": [said("human", "h", "One")]}, place=("t", "a"))
    rows.step("1", None, {"c": [said("human", "h", "Two")]}, place=("t", "b"))
    rows.step("1", None, {"messages": [said("human", "h", "Three")]}, place=place)
    assert memory.import_file(rows.address).bookmarks == 3
    assert {memory.text(name) for name in memory.bookmarks} == {"One", "Two", "Three"}
    assert memory.import_file(rows.address).bookmarks == 0


class TestWritesThatWait:
    def test_are_kept_with_the_conversation_and_go_when_they_were_taken_in(self, memory: Store, rows: Rows) -> None:
        rows.step("1", None, {"messages": [said("human", "h", "Hi")]})
        rows.write("1", "a", "branch:to:next", None)
        rows.write("1", "b", "__interrupt__", "Sure?")
        rows.write("1", "c", "messages", [said("ai", "a", "Yo")])
        done = memory.import_file(rows.address)
        assert (done.added, texts(memory, "hi")) == (1, ["Hi"])
        assert done.unmapped == {
            "pending write to __interrupt__ (kept in meta)": 1, "pending write to messages (kept in meta)": 1,
        }  # fmt: skip
        pending = memory.conversations.find("langgraph:t").record.app["langgraph"]["pending"]
        assert pending[0] == {"task": "b", "channel": "__interrupt__", "value": "Sure?"}
        rows.step("2", "1", {"messages": [said("human", "h", "Hi"), said("ai", "a", "Yo")]})
        assert (memory.import_file(rows.address).added, texts(memory, "hi")) == (1, ["Hi", "Yo"])
        assert "pending" not in memory.conversations.find("langgraph:t").record.app["langgraph"]

    def test_one_that_cannot_be_read_costs_itself(self, memory: Store, rows: Rows) -> None:
        rows.step("1", None, {"messages": [said("human", "h", "Hi")]})
        rows.write("1", "a", "other", "x")
        table = "writes" if isinstance(rows, FileRows) else "checkpoint_writes"
        rows.run(f"UPDATE {table} SET type = 'pickle'")
        notes: list[ImportNote] = []
        done = memory.import_file(rows.address, told=notes.append)
        assert (done.added, done.broken) == (1, 1)
        assert [each.where for each in notes] == ["thread t, checkpoint 1, write 0 of task a"]


class TestOnAServer:
    def test_values_inside_and_beside_a_checkpoint_are_one_state(self, memory: Store, server: ServerRows) -> None:
        server.step("1", None, {"messages": [said("human", "h", "Hi")], "topic": "sums", "seen": {"a": 1}})
        server.run("INSERT INTO checkpoint_blobs VALUES ('t', '', 'gone', '1.0', 'empty', NULL)")
        done = memory.import_file(server.address)
        assert (done.trees, done.added, done.broken) == (1, 1, 0)
        values = memory.conversations.find("langgraph:t").record.app["langgraph"]["values"]
        assert values == {"topic": "sums", "seen": {"a": 1}}

    def test_a_shallow_saver_keeps_one_checkpoint_and_one_value_of_a_channel(
        self, memory: Store, server: ServerRows
    ) -> None:
        server.step("1", None, {"messages": [said("human", "h", "Hi")]})
        server.run("""UPDATE checkpoints SET checkpoint = checkpoint || '{"id": "1"}'""")
        server.run("ALTER TABLE checkpoints DROP COLUMN checkpoint_id, DROP COLUMN parent_checkpoint_id")
        server.run("ALTER TABLE checkpoint_blobs DROP COLUMN version")
        server.run("ALTER TABLE checkpoint_writes DROP COLUMN task_path")
        assert memory.import_file(server.address).added == 1

    def test_a_value_that_is_no_data_costs_its_channel(self, memory: Store, server: ServerRows) -> None:
        server.step("1", None, {"messages": [said("human", "h", "Hi")], "evil": [1]})
        server.run("UPDATE checkpoint_blobs SET type = 'pickle' WHERE channel = 'evil'")
        notes: list[ImportNote] = []
        done = memory.import_file(server.address, told=notes.append)
        assert (done.added, done.broken) == (1, 1)
        assert notes[0].where == "thread t, channel evil"

    def test_a_value_that_is_too_large_is_not_sent(
        self, memory: Store, server: ServerRows, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headish.imports.readers.shared.servers.IMPORT_LINE_BYTES", 1000)
        server.step("1", None, {"messages": [said("human", "h", "Hi")], "wide": ["x" * 2000]})
        server.step("2", "1", {"messages": [said("human", "h", "Hi"), said("ai", "a", "Yo")], "long": "x" * 2000})
        server.write("1", "a", "other", "x" * 2000)
        notes: list[ImportNote] = []
        done = memory.import_file(server.address, told=notes.append)
        assert (done.added, done.broken) == (1, 2)
        assert sorted(each.what for each in notes if each.kind == "broken") == [
            "a value is too large: 2,004 bytes", "a value is too large: 2,123 bytes",
        ]  # fmt: skip

    def test_the_session_writes_nothing_and_sees_one_state(self, memory: Store, server: ServerRows) -> None:
        for number in range(3):
            server.step(str(number), None, {"messages": [said("human", f"h{number}", f"Say {number}")]})
            server.run(f"UPDATE checkpoints SET thread_id = 'x{number}' WHERE thread_id = 't'")
            server.run(f"UPDATE checkpoint_blobs SET thread_id = 'x{number}' WHERE thread_id = 't'")

        def drop(note: ImportNote) -> None:
            server.run("DELETE FROM checkpoints")  # its owner goes on writing, and is not seen

        server.write("0", "a", "other", "waits")
        server.run("UPDATE checkpoint_writes SET thread_id = 'x0'")
        assert memory.import_file(server.address, told=drop).added == 3

    def test_what_is_no_plain_table_is_not_read(self, memory: Store, server: ServerRows) -> None:
        server.run("ALTER TABLE checkpoints RENAME TO hidden")
        server.run("CREATE FUNCTION harm() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'harm done'; END $$")
        server.run("CREATE VIEW checkpoints AS SELECT harm() AS thread_id, checkpoint_ns, checkpoint_id, "
                   "parent_checkpoint_id, type, checkpoint, metadata FROM hidden")  # fmt: skip
        server.run("INSERT INTO hidden VALUES ('t', '', '1', NULL, NULL, '{}', '{}')")
        with pytest.raises(InvalidImport, match="holds no checkpoints of LangGraph"):
            memory.import_file(server.address)

    @pytest.mark.parametrize(
        "change",
        [
            "ALTER TABLE checkpoints ALTER COLUMN checkpoint TYPE text",
            "ALTER TABLE checkpoint_blobs ALTER COLUMN blob TYPE text",
            "DROP TABLE checkpoint_writes",
        ],
    )
    def test_tables_of_another_shape_are_refused_by_name(self, memory: Store, server: ServerRows, change: str) -> None:
        server.run(change)
        with pytest.raises(InvalidImport, match="checkpoint"):
            memory.import_file(server.address)
        assert memory.stats().turns == 0

    @pytest.mark.parametrize("checkpoint", ["5", "[]", "{}", '{"channel_versions": 5}', "null"])
    def test_a_checkpoint_that_is_none_costs_itself(self, memory: Store, server: ServerRows, checkpoint: str) -> None:
        server.step("1", None, {"messages": [said("human", "h", "Hi")]})
        server.run(f"INSERT INTO checkpoints VALUES ('t', '', '2', '1', NULL, '{checkpoint}', 'null')")
        done = memory.import_file(server.address)
        assert (done.added, done.broken) == (1, 1)


SECRET = "hunter2secret"
BAD: dict[str, Callable[[str], str]] = {
    "a server that is not there": lambda word: f"postgresql://me:{word}@127.0.0.1:1/db",
    "an @ in the password": lambda word: f"postgresql://me:p@{word}@127.0.0.1:1/db",
    "a port that is none": lambda word: f"postgresql://me:{word}@127.0.0.1:port/db",
    "a password in the query": lambda word: f"postgresql://127.0.0.1:1/db?password={word}",
    "an option that libpq does not have": lambda word: f"postgresql://me:{word}@127.0.0.1:1/db?nonsense=1",
    "a path that was made of it": lambda word: f"postgresql:/me:{word}@127.0.0.1:1/db",
}


class TestAnAddress:
    @pytest.mark.parametrize("kind", BAD)
    def test_never_shows_its_password(self, tmp_path: Path, kind: str) -> None:
        address, database = BAD[kind](SECRET), tmp_path / "ours.db"
        with Store.open(database) as store:
            for source in (address, Path(address)):
                with pytest.raises(InvalidImport) as caught:
                    store.import_file(source)
                assert SECRET not in f"{caught.value!r} {caught.value} {caught.value.source}"
            with pytest.raises(InvalidArgument) as refused:
                store.import_changed(address)
            assert SECRET not in str(refused.value)
        command = Command(str(database))
        for words in ((address,), (address, address), ("--watch", address), (address, "--json")):
            done = command.run("import", *words)
            assert done.code in (1, 2)
            assert SECRET not in done.out + done.err
        assert SECRET.encode() not in database.read_bytes()

    def test_of_a_password_that_fits_is_neither_told_nor_stored(self, server: ServerRows, tmp_path: Path) -> None:
        server.step("1", None, {"messages": [said("human", "h", "Hi")], "topic": "sums"})
        address = server.address.replace("postgres:@", f"postgres:{SECRET}@")
        assert SECRET in address
        report = tmp_path / "report.txt"
        done = Command(str(tmp_path / "ours.db")).run("import", address, "--report", str(report))
        assert done.code == 0, done.err
        assert "1 conversation with 1 message" in done.err
        assert "topic" in report.read_text()
        told = done.out + done.err + report.read_text()
        assert SECRET not in told
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("ours.db*"))
        assert SECRET.encode() not in stored

    def test_is_only_read_for_langgraph(self, memory: Store) -> None:
        with pytest.raises(InvalidArgument, match="langgraph"):
            memory.import_file("postgresql://127.0.0.1:1/db", "chatgpt")
        with pytest.raises(UnknownFormat):
            memory.import_file("postgresql://127.0.0.1:1/db", "nonsense")

    def test_counts_beforehand_and_stores_nothing(self, memory: Store, server: ServerRows) -> None:
        server.step("1", None, {"messages": [said("human", "h", "Hi")]})
        assert memory.import_file(server.address, dry_run=True).added == 1
        assert memory.stats().turns == 0
