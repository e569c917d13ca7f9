"""What is written can be read again, and what was read is named: the other half of every grammar rule."""

from __future__ import annotations

import pytest

from headish.errors import HeaderValue, InvalidTranscript, Unrepresentable
from headish.transcripts import TranscriptStream, convert, emit, from_json, lint, parse, to_json
from headish.values.limits import MESSAGE_HEADER_LIMIT

NO_JSON = "version: 2.2\n\n<|start|>user<|constrain|>json<|message|>no<|end|>\n"
LONGEST = {
    "2.2": ("<|start|>", "user name=", "<|message|>hi<|end|>\n"),
    "harmony": ("<|start|>", "user:", "<|message|>hi<|end|>"),
    "v0.1": ("<|im_start|>", "user name=", "\nhi\n<|im_end|>\n"),
    "rwkv": ("", '<<TOOL_CALL name="', '">>\n{}\n<<END_TOOL_CALL>>\n'),
}
"""For each format, what stands before a header that counts to its length, its beginning, and what follows its name."""
NO_CHANNEL = (
    "version: 2.2\nprofiles: {harmony: {enabled: true, require_channels: [final]}}\n\n"
    "<|start|>assistant<|message|>hi<|end|>\n"
)


class TestEmitRefusesWhatParseDoes:
    @pytest.mark.parametrize(("text", "code", "drop"), [
        (NO_JSON, "E-BODY-CONSTRAINT-VIOLATION", "constrain"), (NO_CHANNEL, "E-PARSE-CHANNEL-MISSING", "header"),
    ])  # fmt: skip
    def test_a_relaxed_reading_is_written_only_on_request(self, text: str, code: str, drop: str) -> None:
        read = parse(text, strict=False)
        assert code in lint(read, "2.2")
        with pytest.raises(Unrepresentable, match=code) as refused:
            emit(read, "2.2")
        assert refused.value.drops == (drop,)
        assert emit(read, "2.2", strict=False) == text
        parse(emit(read, "2.2", drop=drop))

    def test_a_body_that_was_cut_off_is_no_violation(self) -> None:
        read = parse(NO_JSON.removesuffix("<|end|>\n"), partial=True)
        assert emit(read, "2.2") == NO_JSON.removesuffix("<|end|>\n")

    @pytest.mark.parametrize("format", ["2.2", "2.0", "harmony", "rwkv", "v0.1"])
    def test_a_header_that_no_reader_takes_is_refused(self, format: str) -> None:
        name = "functions." + "f" * MESSAGE_HEADER_LIMIT
        call = {
            "role": "assistant",
            "channel": "commentary",
            "content": [{"type": "tool_use", "name": name, "raw": "{}"}],
        }
        plain = {"role": "assistant", "content": call["content"]}
        named = {"role": "user", "name": name, "content": [{"type": "text", "text": "hi"}]}
        message = {"rwkv": plain, "v0.1": named}.get(format, call)
        with pytest.raises(HeaderValue, match="more than 65,536 characters"):
            emit(from_json({"messages": [message]}), format)

    @pytest.mark.parametrize("format", LONGEST)
    def test_the_longest_header_is_read_however_it_is_cut_and_written_again(self, format: str) -> None:
        lead, start, end = LONGEST[format]
        # The quote of an attribute's value is a part of its tag.
        name = "n" * (MESSAGE_HEADER_LIMIT - len(start) - end.startswith('"'))
        text = f"{lead}{start}{name}{end}"
        read = parse(text, format)
        for cut in range(len(text) - len(end) - 1, len(text)):
            stream = TranscriptStream(format)
            stream.feed(text[:cut])
            stream.feed(text[cut:])
            assert stream.finish() == read, cut
        assert emit(read, format) == text
        with pytest.raises(InvalidTranscript, match="65536 characters"):
            parse(text.replace("nn", "nnn", 1), format)

    @pytest.mark.parametrize("value", ["intent=debug", "text/plain;charset=utf-8"])
    def test_harmony_would_read_a_content_type_with_an_equals_sign_as_another_attribute(self, value: str) -> None:
        text = [{"type": "text", "text": "hi"}]
        message = {"role": "assistant", "channel": "final", "to": "user", "content_type": value, "content": text}
        with pytest.raises(HeaderValue, match="content_type="):
            emit(from_json({"messages": [message]}), "harmony")
        assert parse(emit(from_json({"messages": [message]}), "2.2")).messages[0].attributes.content_type == value

    def test_harmony_would_read_a_constraint_without_a_recipient_as_one(self) -> None:
        read = parse("<|start|>assistant<|channel|>final<|constrain|>json<|message|>{}<|end|>", "2.2")
        with pytest.raises(Unrepresentable, match="a constraint without a recipient") as refused:
            emit(read, "harmony")
        assert refused.value.drops == ("constrain",)

    def test_a_result_that_is_no_error_needs_no_words_in_0_1(self) -> None:
        result = {"type": "tool_result", "name": "f", "content": [{"type": "text", "text": "1"}], "is_error": False}
        written = emit(from_json({"messages": [{"role": "tool", "content": [result]}]}), "v0.1")
        assert "is_error" not in written
        assert parse(written, "v0.1").messages


class TestWhichFormat:
    def test_a_reader_of_0_1_fails_loudly_on_2_x(self) -> None:
        for text in ("<|start|>user<|message|>hi<|end|>\n", NO_JSON):
            with pytest.raises(InvalidTranscript, match=r"this is OpenChatML 2\.x") as refused:
                parse(text, "v0.1")
            assert refused.value.code == "E-PARSE-FRAME"
        file = "<|fim_prefix|>\n<|start|>user<|message|>hi<|fim_middle|>"
        assert emit(parse(file, "v0.1"), "v0.1") == file

    @pytest.mark.parametrize(("text", "format"), [
        ("version: 2.0\n\n<|start|>user<|message|>hi<|end|>\n", "2.0"),
        ("version: 2.1\n\n<|start|>user<|message|>hi<|end|>\n", "2.2"),
        ("<|im_start|>user\nhi\n<|im_end|>\n", "v0.1"), ("<<USER>>\nhi\n<<USER_END>>\n", "rwkv"),
        ("a <|fim_prefix|> b", "v0.1"), (" \n[BOS]<|im_start|>user\nhi\n<|im_end|>", "v0.1"),
    ])  # fmt: skip
    def test_a_transcript_says_what_it_was_read_as(self, text: str, format: str) -> None:
        assert parse(text).format == format
        for size in (1, 7, len(text)):
            stream = TranscriptStream(None)
            events = [event for at in range(0, len(text), size) for event in stream.feed(text[at : at + size].encode())]
            assert stream.finish().format == stream.format == format
            shown = "".join(event.text or "" for event in [*events, *stream.rest])
            assert ("hi" in shown) == ("hi" in text)
        assert parse(text) == from_json(to_json(parse(text)))
        if format == "rwkv":
            assert convert(parse(text), "rwkv", "2.2").format == "2.2"

    def test_a_stream_without_a_known_format_says_so_at_its_end(self) -> None:
        stream = TranscriptStream()
        assert stream.feed("hello") == []
        assert stream.format is None
        with pytest.raises(InvalidTranscript) as refused:
            stream.finish()
        assert refused.value.code == "E-PARSE-DETECT"


class TestYamlHeaders:
    def test_a_value_that_is_no_text_is_refused(self) -> None:
        with pytest.raises(InvalidTranscript, match="lone surrogate") as refused:
            parse('version: 2.2\nmodel: "\\ud800"\n\n<|start|>user<|message|>hi<|end|>\n')
        assert refused.value.code == "E-PARSE-HEADER"

    def test_a_number_that_cannot_be_written_in_digits_stays_text(self) -> None:
        digits = "0x" + "f" * 5000
        read = parse(f"version: 2.2\nseed: {digits}\n\n<|start|>user<|message|>hi<|end|>\n")
        assert read.header == {"version": "2.2", "seed": digits}
        assert digits in emit(convert(read, "2.2", "2.0"), "2.0")

    @pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
    def test_lines_end_at_line_feeds_alone(self, mark: str) -> None:
        text = f"version: 2.2\na: x{mark}b\n'c{mark}d': \"e{mark}f\"\n\n<|start|>user<|message|>hi<|end|>\n"
        read = parse(text)
        assert read.header == {"version": "2.2", "a": f"x{mark}b", f"c{mark}d": f"e{mark}f"}
        assert emit(read, "2.2") == text
