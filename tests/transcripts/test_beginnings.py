"""How a transcript begins: which format it is told by, and the YAML header of OpenChatML 2.x."""

from __future__ import annotations

from typing import Any

import pytest

from headish.errors import InvalidTranscript, Unrepresentable
from headish.transcripts import detect, emit, from_json, lint, parse, to_json
from support.transcripts.rules import USER, body, messages, refusal


class TestDetection:
    @pytest.mark.parametrize(
        ("text", "format"),
        [
            (USER + "hi<|end|>", "2.2"),
            ("version: 2.2\n\n" + USER, "2.2"),
            ("'version' : 2.0\n", "2.0"),
            ("version: 2.0\n\n" + USER, "2.0"),
            ('"version": "2.0"\n' + USER + "version: 2.2", "2.0"),
            (USER + "\nversion: 2.0\n", "2.2"),
            ("model: x\nversion: 2.2\n", "2.2"),
            ("[BOS]hi", "v0.1"),
            ("<|im_start|>user\n", "v0.1"),
            ("  <<USER>>\nhi", "rwkv"),
            ('<<TOOL_CALL name="f">>', "rwkv"),
            ("some code <|fim_middle|>", "v0.1"),
            ("a\n<|start|>user", "2.2"),
        ],
    )
    def test_the_beginning_tells(self, text: str, format: str) -> None:
        assert detect(text) == format

    @pytest.mark.parametrize("text", ["", " \n", "hello", "a <|start|> b", "version 2.2"])
    def test_what_no_rule_knows_must_be_named(self, text: str) -> None:
        assert refusal(text, None) == "E-PARSE-DETECT"

    def test_bytes_must_be_utf_8(self) -> None:
        with pytest.raises(InvalidTranscript) as error:
            parse(b"<|start|>user<|message|>\n\xff", "2.2")
        assert (error.value.code, error.value.line, error.value.column) == ("E-PARSE-ENCODING", 2, 1)
        assert refusal("\ud800", "2.2") == "E-PARSE-ENCODING"

    def test_a_byte_order_mark_counts_only_at_the_start(self) -> None:
        assert body("\ufeff" + USER + "\ufeffhi<|end|>") == "\ufeffhi"


class TestYaml:
    def header(self, text: str) -> Any:
        return to_json(parse(f"{text}\n{USER}hi<|end|>\n", "2.2"))["header"]

    def test_scalars_follow_yaml_1_2(self) -> None:
        read = self.header(
            "version: 2.2\nnothing: [~, null, '', \"\"]\nno: [no, on, 2025-08-05, 12:30, .inf, 0x1F, 0o17, 017]\n"
            "numbers: [1, -2, 3.5, 1e3, .5, +7]\nflags: [true, False, yes]\n"
        )
        assert read == {
            "version": "2.2",
            "nothing": [None, None, "", ""],
            "no": ["no", "on", "2025-08-05", "12:30", ".inf", 31, 15, 17],
            "numbers": [1, -2, 3.5, 1000.0, 0.5, 7],
            "flags": [True, False, "yes"],
        }

    def test_an_escape_is_the_character_that_it_names_beside_line_ends_of_yaml_1_1(self) -> None:
        escapes = "\\uE000\\U0000e001\\U000F0000\\U000f0001\\x85"
        text = f'version: 2.2\nx: "{escapes}"\ny: "a\u2028b\x85c"\n\n<|start|>user<|message|>hi<|end|>\n'
        header = parse(text).header or {}
        assert header["x"] == "\ue000\ue001\U000f0000\U000f0001\x85"
        assert header["y"] == "a\u2028b\x85c"

    def test_a_header_may_be_full_of_characters_for_private_use(self) -> None:
        for first, count in ((0xE000, 6400), (0xF0000, 16_000)):
            value = "".join(map(chr, range(first, first + count))) + "\u2028"
            assert self.header(f"version: 2.2\nx: '{value}'")["x"] == value

    def test_the_version_is_the_text_that_stands_there(self) -> None:
        assert self.header("version: 2.10")["version"] == "2.10"

    @pytest.mark.parametrize(
        "text",
        [
            "model: x",
            "version: two",
            "version: 3.0",
            "version: [2]",
            "- version: 2.2",
            "version: 2.2\nversion: 2.2",
            "version: 2.2\na: &x 1\nb: *x",
            "version: 2.2\na: !!python/name:os.system x",
            "version: 2.2\n<<: {a: 1}",
            "version: 2.2\n? [a]\n: b",
            "version: 2.2\na: {b",
            "version: 2.2\na:\n\t- b",
            "plain text",
            "version: 2.2\na: \0",
            "version: 2.2\na: " + "[" * 30 + "]" * 30,
            "version: 2.2\na: " + "x" * 70_000,
            "version: 2.2\n--- \na: 1",
        ],
    )
    def test_what_is_no_safe_header_is_refused(self, text: str) -> None:
        assert refusal(f"{text}\n{USER}hi<|end|>") == "E-PARSE-HEADER"

    def test_front_matter_is_read_and_nothing_stands_behind_it(self) -> None:
        assert self.header("---\nversion: 2.2\na: 1\n...\n") == {"version": "2.2", "a": 1}
        assert refusal(f"---\nversion: 2.2\n---\nhello\n{USER}hi<|end|>") == "E-PARSE-FRAME"

    def test_the_version_picks_the_grammar(self) -> None:
        text = "version: 2.0\n\n<|start|>user call_id=c<|message|><<|end|>"
        assert messages(text)[0]["extra"] == {"call_id": "c"}
        assert messages(text)[0]["content"] == [{"type": "text", "text": "<"}]
        assert lint(parse("version: 2.7\n" + USER + "<|end|>"), "2.2") == ["W-VERSION-UNKNOWN"]

    def test_a_profile_may_want_channels(self) -> None:
        text = "version: 2.2\nprofiles: {harmony: {enabled: true, require_channels: [final]}}\n"
        assert refusal(text + "<|start|>assistant<|message|>x<|end|>") == "E-PARSE-CHANNEL-MISSING"
        assert messages(text + "<|start|>assistant<|message|>x<|end|>", strict=False)
        assert messages(text + USER + "x<|end|>")

    def test_a_header_is_written_so_that_it_is_read_again(self) -> None:
        header = {"version": "2.2", "a key": "x: #\u2028\x85", "n": [1, None, {"t": True}], "yes": "no"}
        text = emit(from_json({"header": header, "messages": []}), "2.2")
        assert text.startswith('version: 2.2\n"a key": "x: #\\u2028\\u0085"\n')
        assert to_json(parse(text, "2.2"))["header"] == header

    def test_a_header_that_a_form_cannot_say_is_refused(self) -> None:
        for header, format in (
            ({"version": "2.0"}, "2.2"),
            ({"version": "2.2"}, "harmony"),
            ({"version": "2.2"}, "rwkv"),
        ):
            with pytest.raises(Unrepresentable) as error:
                emit(from_json({"header": header, "messages": []}), format)
            assert error.value.drop == "header"
        assert refusal("version: 2.2\n" + USER + "<|end|>", "harmony") == "E-PARSE-FRAME"
