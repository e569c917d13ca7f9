"""A file of the wrong format, or of none: an import of what is there, or one error that says what it found."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import InputError, InvalidImport
from headish.imports.readers.api import API_READERS
from headish.imports.registry import READERS
from imports.samples import DATABASES, MADE, write_samples
from imports.test_rows import ASK, FOUR
from support.loops import failing

FORMATS = [*READERS, *API_READERS, "2.0", "2.2", "harmony", "rwkv"]
LOGS = ("claude-code", "codex", "gemini-cli", "cross-stream")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="module")
def sink() -> Any:
    with Store.open(":memory:") as store:
        yield store


@pytest.mark.parametrize("format", [*MADE, *DATABASES, "cross-stream"])
def test_every_sample_is_a_file_of_its_format(memory: Store, samples: dict[str, Path], format: str) -> None:
    done = memory.import_file(samples[format], format, strict=False)
    assert (done.trees >= 1, done.broken) == (True, 0)


@pytest.mark.parametrize("kind", [*MADE, *DATABASES, "cross-stream"])
def test_a_file_read_as_another_format_is_imported_or_named(sink: Store, samples: dict[str, Path], kind: str) -> None:
    silent = []
    for format in FORMATS:
        try:
            done = sink.import_file(samples[kind], format)
        except InputError as error:
            assert len(str(error)) < 500
        else:
            silent += [] if done.trees or done.broken else [format]
    assert silent == []


@pytest.mark.parametrize("format", LOGS)
@pytest.mark.parametrize("kind", LOGS)
def test_a_log_of_another_program_is_told_from_ones_own(
    sink: Store, samples: dict[str, Path], kind: str, format: str
) -> None:
    if kind == format:
        sink.import_file(samples[kind], format)
        return
    with pytest.raises(InvalidImport, match=f"of {format}; it looks like .*{kind}"):
        sink.import_file(samples[kind], format)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_text_in_utf_16_is_named(sink: Store, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(MADE["claude-code"][1]().decode().encode(encoding))

    def is_named(format: str | None) -> None:
        with pytest.raises(InputError) as caught:
            sink.import_file(path, format)
        if format is None or format in (*LOGS, "hf", "chat", "oasst", "records"):
            assert "UTF-16" in str(caught.value)

    assert failing([None, *FORMATS], is_named) == {}


@pytest.mark.parametrize("kind", [kind for kind in MADE if kind not in ("chatgpt", "inspect")])
def test_the_mark_that_editors_put_before_utf_8_is_passed_over(memory: Store, tmp_path: Path, kind: str) -> None:
    name, make = MADE[kind]
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + make())
    done = memory.import_file(tmp_path / name, kind, strict=False)
    assert (done.trees >= 1, done.broken) == (True, 0)


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_no_text_is_named_once(sink: Store, tmp_path: Path, format: str) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)) * 40 + b"\n" * 100)
    with pytest.raises(InputError):
        sink.import_file(path, format)


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_what_is_no_file_that_can_be_read_is_named(sink: Store, tmp_path: Path, format: str | None) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for path, reason in ((tmp_path, "a folder"), (tmp_path / "pipe", "a named pipe"), (tmp_path / "link", "No such")):
        with pytest.raises(InvalidImport, match=reason):
            sink.import_file(path, format)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file: run as another user")
def test_a_file_without_the_permission_to_read_is_named(sink: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}")
    path.chmod(stat.S_IWUSR)
    with pytest.raises(InvalidImport, match="Permission denied"):
        sink.import_file(path)


def test_an_archive_without_an_export_is_refused(memory: Store, samples: dict[str, Path]) -> None:
    for format in ("chatgpt", "claude"):
        with pytest.raises(InvalidImport, match=r"no conversations\.json"):
            memory.import_file(samples["inspect"], format)
    with pytest.raises(InvalidImport, match="not a log of Inspect"):
        memory.import_file(samples["chatgpt"], "inspect")


def test_a_data_set_that_ends_in_the_middle_of_a_row_is_broken(memory: Store, tmp_path: Path) -> None:
    """A log ends so while it is written, a data set where its download broke off."""
    row = MADE["hf"][1]()
    (tmp_path / "train.jsonl").write_bytes(row + row[:-20])
    assert memory.import_file(tmp_path / "train.jsonl").broken == 1


class TestJsonBehindJson:
    def test_objects_behind_one_another_are_read_as_those_of_a_list(self, memory: Store, tmp_path: Path) -> None:
        from imports.test_chatgpt import TIDES, conversation, node, text

        more = conversation("c2", "More", node("n1", None, "user", text("Hello")))
        path = tmp_path / "conversations.json"
        path.write_text(f"{json.dumps(TIDES)}\n{json.dumps(more)}\n")
        assert memory.import_file(path, "chatgpt").trees == 2
        path.write_text(f"[{json.dumps(TIDES)}]\n[{json.dumps(more)}]\n")
        assert memory.import_file(path, "chatgpt").trees == 2

    def test_what_stands_behind_is_not_passed_over(self, memory: Store, tmp_path: Path) -> None:
        path = tmp_path / "conversations.json"
        path.write_text("[] and more")
        with pytest.raises(InvalidImport, match="something else stands behind the end of its JSON"):
            memory.import_file(path, "chatgpt")
        path.write_text('["one", 2]')
        assert memory.import_file(path, "chatgpt").broken == 1


class TestMessagesOfAnApi:
    @pytest.mark.parametrize("format", ["chat", "responses", "anthropic"])
    def test_a_list_of_messages_is_one_conversation(self, memory: Store, tmp_path: Path, format: str) -> None:
        messages = [ASK, {"role": "assistant", "content": "4"}]
        path = tmp_path / "sum.json"
        path.write_text(json.dumps(messages))
        assert memory.import_file(path, format).added == 2
        path.write_text("".join(json.dumps(each) + "\n" for each in messages))
        assert memory.import_file(path, format).added == 0, "a message on each line says the same"
        path.write_text(json.dumps([{"input" if format == "responses" else "messages": messages}]))
        assert memory.import_file(path, format).added == 0
        assert memory.text("sum") == "4"

    @pytest.mark.parametrize("behind", [b"\n", b""])
    def test_several_conversations_are_refused_with_the_way_to_read_them(
        self, memory: Store, tmp_path: Path, behind: bytes
    ) -> None:
        path = tmp_path / "many.jsonl"
        row = json.dumps({"messages": [ASK, FOUR]}).encode()
        path.write_bytes(row + b"\n" + row if behind else b"[" + row + b"," + row + b"]")
        with pytest.raises(InvalidImport) as caught:
            memory.import_file(path, "chat")
        assert caught.value.reason == (
            "it is a list of 2 records with `messages`; expected is one conversation: a list of messages, or an object "
            "with `messages`. Import many with --from openai-finetune (format= in Python)"
        )
        assert memory.import_file(path, "openai-finetune").trees == 2

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            ("", "the file is empty"), ("[]", "an empty list"), ("[1, {}]", "a list of 2 values of several kinds"),
            ("nonsense", "it is not JSON: Expecting value"), ("[[], []]", "a list of 2 lists"),
        ],
    )  # fmt: skip
    def test_what_is_none_is_described(self, memory: Store, tmp_path: Path, data: str, reason: str) -> None:
        path = tmp_path / "odd.json"
        path.write_text(data)
        with pytest.raises(InvalidImport, match=reason):
            memory.import_file(path, "chat")

    def test_a_message_among_rows_says_where_it_belongs(self, memory: Store, tmp_path: Path) -> None:
        path = tmp_path / "list.json"
        path.write_text(json.dumps([ASK, FOUR]))
        told: list[str] = []
        assert memory.import_file(path, "hf", told=lambda note: told.append(note.what)).broken == 2
        assert told[0].startswith("it is a message, not a row: --from chat")

    def test_a_row_may_be_the_list_of_its_messages(self, memory: Store, tmp_path: Path) -> None:
        path = tmp_path / "lists.json"
        path.write_text(json.dumps([[ASK], [ASK, FOUR]]))
        assert memory.import_file(path, "hf").trees == 2
