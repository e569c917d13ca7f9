"""``convert`` and ``lint-transcript``: transcripts from one format into another, without a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import Command

CHAT = """<|start|>user<|message|>Height of Everest?<|end|>
<|start|>assistant<|channel|>analysis<|message|>Look it up.<|end|>
<|start|>assistant to=functions.lookup call_id=c1<|channel|>commentary<|constrain|>json<|message|>{"q": 1}<|call|>
<|start|>tool name=functions.lookup call_id=c1 to=assistant<|channel|>commentary<|message|>8849 m<|end|>
<|start|>assistant<|channel|>final<|message|>8,849 metres.<|return|>
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "chat.ocml"
    path.write_text(CHAT)
    return str(path)


class TestConvert:
    def test_the_neutral_model_is_printed_as_json_and_read_back(self, headish: Command, file: str) -> None:
        model = headish("convert", file, "--to", "json").out
        assert json.loads(model)["messages"][2]["content"][0]["raw"] == '{"q": 1}'
        assert headish("convert", "-", "--from", "json", "--to", "2.2", stdin=model).out == CHAT

    def test_what_is_given_up_is_named(self, headish: Command, file: str) -> None:
        assert headish.fails("convert", file, "--to", "rwkv").endswith("give it up with --drop thinking")
        written = headish("convert", file, "--to", "rwkv", "--drop", "thinking").out
        assert written.startswith('<<USER>>\nHeight of Everest?\n<<USER_END>>\n\n<<TOOL_CALL name="lookup" id="c1">>')

    def test_the_messages_of_an_api_come_and_go(self, headish: Command, file: str) -> None:
        for api in ("chat", "responses", "anthropic"):
            body = headish("convert", file, "--to", api, "--drop", "thinking").out
            back = headish("convert", "-", "--from", api, "--to", "2.2", stdin=body).out
            assert back == "version: 2.2\n\n" + CHAT.replace("<|return|>", "<|end|>").replace(
                CHAT.splitlines()[1] + "\n", ""
            )

    def test_the_messages_of_an_api_are_read_without_the_object_around_them(self, headish: Command, file: str) -> None:
        for api, key in {"chat": "messages", "responses": "input", "anthropic": "messages"}.items():
            body = headish("convert", file, "--to", api, "--drop", "thinking").json
            whole, alone = (json.dumps(given) for given in (body, body[key]))
            read = [headish("convert", "-", "--from", api, "--to", "2.2", stdin=given).out for given in (whole, alone)]
            assert read[0] == read[1]
        told = headish.fails("convert", "-", "--from", "chat", "--to", "2.2", stdin="[1]")
        assert "must be a list of objects" in told

    def test_the_interchange_comes_and_goes(self, headish: Command, file: str) -> None:
        body = headish("convert", file, "--to", "interchange").out
        assert json.loads(body)["messages"][1]["thinking"] == "Look it up."
        assert headish("convert", "-", "--from", "interchange", "--to", "2.2", stdin=body).out == CHAT

    def test_a_completion_is_read_from_inside_its_header(self, headish: Command) -> None:
        text = "<|channel|>final<|message|>Half an ans"
        done = headish(
            "convert", "-", "--from", "harmony", "--start-role", "assistant", "--partial", "--to", "2.2", stdin=text
        )
        assert done.out == "version: 2.2\n\n<|start|>assistant<|channel|>final<|message|>Half an ans"

    def test_text_that_is_no_transcript_is_told_in_one_line(self, headish: Command) -> None:
        told = headish.fails("convert", "-", "--to", "2.2", stdin="<|start|>user<|message|>hi")
        assert told == (
            "E-STREAM-TRUNCATED: this is not a valid 2.2 transcript: the text ends before its last message does "
            "(line 1, column 27)"
        )

    def test_the_layout_of_the_oldest_format_is_chosen(self, headish: Command, file: str) -> None:
        tokens = ("--bos", "<s>", "--eos", "</s>")
        text = "<s><|im_start|>user\nHi\n<|im_end|></s>\n"
        assert headish("convert", "-", "--from", "v0.1", "--to", "v0.1", *tokens, stdin=text).out == text
        source = "<|start|>user<|message|>Hi<|end|>"
        words = ("convert", "-", "--from", "2.2", "--to", "v0.1")
        assert headish(*words, stdin=source).out == "<|im_start|>user\nHi\n<|im_end|>\n"
        assert headish(*words, "--tight", stdin=source).out == "<|im_start|>user\nHi<|im_end|>\n"
        assert headish("convert", "-", "--from", "v0.1", "--to", "v0.1", *tokens, "--tight", stdin=text).out == text

    def test_a_format_that_nobody_knows_is_named(self, headish: Command, file: str) -> None:
        told = headish.refuses("convert", file, "--to", "docx")
        assert told.startswith(
            "unknown format 'docx': known are v0.1, 2.0, 2.2, harmony, rwkv, openchatml, json, chat, "
        )


class TestLint:
    def test_codes_are_printed_a_line_each(self, headish: Command, file: str) -> None:
        assert headish("lint-transcript", file).out == "W-HEADER-MISSING\n"
        assert headish("lint-transcript", file, "--json").out == '["W-HEADER-MISSING"]\n'

    def test_a_transcript_in_order_prints_nothing(self, headish: Command) -> None:
        done = headish("lint-transcript", "-", stdin="version: 2.2\n\n<|start|>user<|message|>hi<|end|>\n")
        assert (done.code, done.out) == (0, "")


class TestThroughAStore:
    def test_a_file_is_imported_under_its_name_and_exported_as_it_was(
        self, headish: Command, file: str, tmp_path: Path
    ) -> None:
        done = headish("import", file)
        assert done.err == "1 conversation with 5 messages read; new: 5 turns, 1 bookmark.\n"
        assert headish("export", "chat").out == CHAT

    def test_one_bad_file_does_not_stop_the_rest(self, headish: Command, file: str, tmp_path: Path) -> None:
        (tmp_path / "broken.txt").write_text("<|start|>user<|message|>hi")
        done = headish.run("import", str(tmp_path))
        assert done.code == 1
        assert "broken.txt: E-STREAM-TRUNCATED" in done.err
        assert done.err.endswith("\nheadish: 1 file of 2 could not be imported\n")
        assert headish("export", "chat").out == CHAT

    def test_a_name_is_given(self, headish: Command, file: str) -> None:
        headish("import", file, "-b", "everest")
        assert [line.split()[0] for line in headish("bookmark", "list").out.splitlines()] == ["everest"]
        assert headish.run("import", file, file, "-b", "two").code == 2

    def test_a_prompt_and_what_a_user_sees(self, headish: Command, file: str) -> None:
        headish("import", file)
        prompt = headish("export", "chat", "--for-completion").out
        assert prompt.endswith("8,849 metres.<|end|>\n<|start|>assistant")
        seen = headish("export", "chat", "--to", "rwkv", "--as", "user").out
        assert seen == "<<USER>>\nHeight of Everest?\n<<USER_END>>\n\n<<ASSISTANT>>\n8,849 metres.\n<<ASSISTANT_END>>\n"
