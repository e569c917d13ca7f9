"""llm's log: the content-addressed messages since 0.32, and the responses before; opened read-only."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidImport
from support.insides import unchanged

OLD = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT, options_json TEXT,
  response TEXT, response_json TEXT, conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT, input_tokens INTEGER,
  output_tokens INTEGER, token_details TEXT, schema_id TEXT, resolved_model TEXT, reasoning TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, arguments TEXT,
  tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, output TEXT,
  tool_call_id TEXT, instance_id INTEGER, exception TEXT);
"""
NEW = """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
  payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
  resolved_model TEXT, options_json TEXT, schema_id TEXT, input_tokens INTEGER, output_tokens INTEGER,
  token_details TEXT, duration_ms INTEGER, datetime_utc TEXT, response_json TEXT);
"""
THREAD = """
INSERT INTO fragments VALUES (1, 'f', 'A long text. ', '2026-01-02', NULL);
INSERT INTO attachments VALUES ('a1', 'image/png', NULL, NULL, X'89504E47'),
  ('a2', 'image/png', '/etc/hostname', NULL, NULL);
INSERT INTO messages VALUES ('b2:1', NULL, 'system', NULL), ('b2:2', 'b2:1', 'user', NULL),
  ('b2:3', 'b2:2', 'assistant', '{"x": 1}'), ('b2:4', 'b2:3', 'tool', NULL), ('b2:5', 'b2:4', 'assistant', NULL),
  ('b2:6', 'b2:2', 'assistant', NULL);
INSERT INTO parts VALUES (1, 'b2:1', 0, 'text', NULL, 'Be brief.', NULL),
  (2, 'b2:2', 0, 'text', NULL, NULL, '{"text_ref": [{"fragment": 1}, {"literal": "Sum?"}]}'),
  (3, 'b2:2', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "a1"}}'),
  (4, 'b2:2', 2, 'attachment', NULL, NULL, '{"attachment": {"id": "a2"}}'),
  (5, 'b2:3', 0, 'reasoning', NULL, 'So', NULL),
  (6, 'b2:3', 1, 'tool_call', 'add', NULL, '{"name": "add", "arguments": {"a": 2}, "tool_call_id": "c1"}'),
  (7, 'b2:4', 0, 'tool_result', 'add', NULL, '{"name": "add", "output": "5", "tool_call_id": "c1"}'),
  (8, 'b2:5', 0, 'text', NULL, 'Five.', NULL), (9, 'b2:6', 0, 'from the future', NULL, NULL, '{"y": 2}');
INSERT INTO threads VALUES ('01h', 'A long text. A long te…', 'b2:5', NULL, '2026-01-02 03:04:05.6+00:00'),
  ('01j', 'fork', 'b2:6', '01h', '2026-01-03 03:04:05.6+00:00');
INSERT INTO turns VALUES
  ('t1', '01h', 'b2:2', 'b2:3', 'm', 'm-1', '{"temperature": 0.5}', NULL,
   3, 2, NULL, 12, '2026-01-02T03:04:05+00:00', NULL),
  ('t2', '01h', 'b2:4', 'b2:5', 'm', NULL, NULL, NULL, 5, 1, NULL, 12, '2026-01-02T03:04:09+00:00', NULL);
"""
RESPONSES = """
INSERT INTO conversations VALUES ('01a', 'Old one', 'm');
INSERT INTO fragments VALUES (7, 'f', 'Text of a file', '2025-01-02', NULL);
INSERT INTO prompt_fragments VALUES ('r1', 7, 0);
INSERT INTO responses VALUES
  ('r1', 'm', 'Sum?', 'Be brief.', NULL, NULL, 'Calling', NULL,
   '01a', 9, '2025-01-02T03:04:05.123456', 3, 2, NULL, NULL, NULL, 'hm'),
  ('r2', 'm', '', 'Be brief.', NULL, NULL, 'Five.', NULL,
   '01a', 9, '2025-01-02T03:04:06', 3, 2, NULL, NULL, NULL, NULL),
  ('r3', 'm', 'Alone', NULL, NULL, NULL, 'Yes', NULL,
   NULL, 9, '2025-01-02T03:04:07', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO tool_calls VALUES (1, 'r1', 1, 'add', '{"a": 2}', 'c1');
INSERT INTO tool_results VALUES (1, 'r2', 1, 'add', '5', 'c1', NULL, NULL);
"""
Logs = Callable[..., Path]


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    def make(*scripts: str) -> Path:
        path = tmp_path / "logs.db"
        with sqlite3.connect(path) as connection:
            connection.executescript("".join(scripts))
        connection.close()
        return path

    return make


def kinds(store: Store, name: str) -> list[tuple[str | None, list[str]]]:
    return [(each.role, [to["type"] for to in each.to_dict()["content"]]) for each in store.resolve(name).messages]


def test_a_message_is_a_turn_and_threads_share_what_they_have_in_common(store: Store, logs: Logs) -> None:
    done = store.import_file(logs(OLD, NEW, THREAD))
    assert (done.trees, done.added, done.bookmarks, done.broken) == (2, 6, 2, 0)
    assert kinds(store, "a-long-text.-a-long-te") == [
        ("system", ["text"]), ("user", ["text", "document", "provider"]), ("assistant", ["thinking", "tool_use"]),
        ("tool", ["tool_result"]), ("assistant", ["text"]),
    ]  # fmt: skip
    assert kinds(store, "fork")[1:] == [("user", ["text", "document", "provider"]), ("assistant", ["provider"])]
    assert store.resolve("fork").messages[1].text == "A long text. Sum?"
    assert store.verify().problems == ()


def test_a_message_that_no_thread_leads_to_is_left_out_and_said(store: Store, logs: Logs) -> None:
    alone = "INSERT INTO messages VALUES ('b2:7', 'b2:2', 'assistant', NULL), ('b2:8', 'b2:7', 'user', NULL);"
    told: list[str] = []
    done = store.import_file(logs(OLD, NEW, THREAD, alone), told=lambda note: told.append(str(note)))
    assert (done.messages, done.unmapped["message that no thread leads to (left out)"]) == (8, 2)
    assert sum("message that no thread leads to" in line and "b2:8" in line for line in told) == 1


def test_times_models_and_tokens_come_from_turns(store: Store, logs: Logs) -> None:
    store.import_file(logs(OLD, NEW, THREAD))
    call = store.find("llm:b2:3")
    assert call.meta.reply == {"provider": "llm", "model": "m-1", "usage": {"input_tokens": 3, "output_tokens": 2}}
    assert call.meta.app["llm"]["options_json"] == {"temperature": 0.5}
    said = [store.find(f"llm:b2:{number}").said_at.isoformat()[11:19] for number in range(1, 6)]
    assert said == ["03:04:05"] * 3 + ["03:04:09"] * 2


def test_older_responses_are_lists(store: Store, logs: Logs) -> None:
    done = store.import_file(logs(OLD, RESPONSES))
    assert (done.trees, done.bookmarks) == (2, 2)
    assert kinds(store, "old-one") == [
        ("system", ["text"]), ("user", ["text"]), ("assistant", ["thinking", "text", "tool_use"]),
        ("tool", ["tool_result"]), ("assistant", ["text"]),
    ]  # fmt: skip
    assert store.resolve("old-one").messages[1].text == "Text of a file\nSum?"
    assert store.find("llm:r1").said_at.isoformat() == "2025-01-02T03:04:05.123000+00:00"


def test_a_response_whose_conversation_is_missing_is_one_of_its_own(store: Store, logs: Logs) -> None:
    done = store.import_file(logs(OLD, RESPONSES, "DELETE FROM conversations;"))
    assert (done.trees, store.find("llm:r1").text, store.find("llm:r3").text) == (3, "Calling", "Yes")


def test_a_result_without_output_says_nothing(store: Store, logs: Logs) -> None:
    store.import_file(logs(OLD, RESPONSES, "UPDATE tool_results SET output = NULL, exception = 'Gone';"))
    [result] = store.resolve("old-one").messages[3].to_dict()["content"]
    assert (result["content"], result["is_error"]) == ([{"type": "text", "text": ""}], True)


def test_a_second_import_stores_nothing_and_the_log_stays_as_it_is(store: Store, logs: Logs) -> None:
    path = logs(OLD, RESPONSES, NEW, THREAD)
    before = path.read_bytes()
    store.import_file(path)
    with unchanged(store):
        assert store.import_file(path).added == 0
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused(store: Store, logs: Logs) -> None:
    with pytest.raises(InvalidImport, match="not a log of llm"):
        store.import_file(logs("CREATE TABLE messages (id INTEGER);"))
    other = logs("CREATE TABLE turn (id);", "CREATE TABLE payload (id);", "CREATE TABLE bookmark (id);")
    with pytest.raises(InvalidImport, match="it is a database of headish: open it with --db"):
        store.import_file(other)
    with pytest.raises(InvalidImport, match="give its path"):
        store.import_file(io.BytesIO(b"SQLite format 3\0"))


def test_a_damaged_log_is_named(store: Store, logs: Logs, tmp_path: Path) -> None:
    whole = logs(OLD, RESPONSES).read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidImport, match="SQLite cannot read it"):
        store.import_file(tmp_path / "cut.db")


def test_messages_in_a_circle_end_somewhere(store: Store, logs: Logs) -> None:
    path = logs(OLD, NEW, THREAD, "UPDATE messages SET parent_hash = 'b2:5' WHERE hash = 'b2:1';")
    assert store.import_file(path).added == 6


def test_a_view_in_the_place_of_a_table_is_not_read(store: Store, logs: Logs) -> None:
    view = "CREATE VIEW responses AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n;"
    with pytest.raises(InvalidImport, match="not a log of llm"):
        store.import_file(logs("CREATE TABLE conversations (id TEXT);", view), "llm")


@pytest.mark.parametrize("words", ["SELECT 7 AS id, 'x' AS content", "SELECT id, source AS content FROM others"])
def test_a_view_that_a_statement_names_is_refused(store: Store, logs: Logs, words: str) -> None:
    view = f"ALTER TABLE fragments RENAME TO others; CREATE VIEW fragments AS {words};"
    with pytest.raises(InvalidImport, match="SQLite cannot read it"):
        store.import_file(logs(OLD, RESPONSES, view), "llm")


def test_a_log_in_use_is_read_with_what_lies_beside_it_and_nothing_is_left_there(store: Store, logs: Logs) -> None:
    path = logs(OLD, RESPONSES)
    owner = sqlite3.connect(path)
    owner.execute("PRAGMA journal_mode = WAL")
    owner.execute("INSERT INTO conversations VALUES ('01b', 'New one', 'm')")
    owner.execute("INSERT INTO responses (id, prompt, response, conversation_id) VALUES ('r9', 'Hi', 'Hello', '01b')")
    owner.commit()
    assert store.import_file(path).trees == 3
    owner.close()
    assert store.import_file(path).added == 0
    assert not [each for each in path.parent.iterdir() if each.name.startswith("logs.db-")]


def test_an_id_that_no_row_can_have_is_borrowed_from_nowhere(store: Store, logs: Logs) -> None:
    odd = """UPDATE parts SET payload = '{"text_ref": [{"fragment": [1]}, {"literal": "Sum?"}]}' WHERE id = 2;"""
    assert store.import_file(logs(OLD, NEW, THREAD, odd)).added == 6
    assert store.resolve("fork").messages[1].text == "Sum?"
