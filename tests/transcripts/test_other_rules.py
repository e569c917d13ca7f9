"""OpenChatML 0.1 and the RWKV template, rule by rule."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest

from headish.errors import HeaderValue, Unrepresentable
from headish.imports.readers.transcripts import outline, read_messages
from headish.transcripts import emit, for_completion, from_json, lint, parse, to_json, visible
from support.transcripts.rules import messages, refusal

CALL = '<|function_call|>\n{"arguments": {"a": 1}, "name": "f"}'


def comes_back(text: str, format: str) -> bool:
    return emit(parse(text, format), format) == text


class TestMessages:
    def test_one_line_break_before_the_end_is_syntax(self) -> None:
        for body, text, tight in (
            ("hi\n", "hi", None),
            ("hi", "hi", True),
            ("hi\n\n", "hi\n", None),
            ("\n", "", None),
            ("", "", True),
            ("hi\r\n", "hi\r", None),
        ):
            [message] = messages(f"<|im_start|>user\n{body}<|im_end|>", "v0.1")
            assert "".join(block["text"] for block in message["content"]) == text
            assert message.get("tight") is tight

    def test_a_line_that_ended_in_crlf_makes_the_other_one_syntax_too(self) -> None:
        [message] = messages("<|im_start|>user\r\nhi\r\n<|im_end|>", "v0.1")
        assert message["content"] == [{"type": "text", "text": "hi"}]

    @pytest.mark.parametrize(
        "line", ["robot", "user x", "user name=", "user name=a b=c", " user", "User", "user name=a<b"]
    )
    def test_a_header_says_a_role_and_a_name_and_no_more(self, line: str) -> None:
        assert refusal(f"<|im_start|>{line}\nhi\n<|im_end|>", "v0.1") == "E-PARSE-HEADER"

    def test_a_token_on_the_header_line_is_no_name_even_at_the_end(self) -> None:
        for line in ("user<|im_end|>", "user <|reason|>", "assistant name=x<|im_start|>"):
            assert refusal(f"<|im_start|>{line}", "v0.1") == "E-PARSE-HEADER"
        assert refusal("<|im_start|>user <|rea", "v0.1") == "E-STREAM-TRUNCATED"

    def test_the_base_model_s_tokens_are_kept_where_they_stood(self) -> None:
        for text in ("[BOS]<|im_start|>user\nhi\n<|im_end|>[EOS]\n", "<|im_start|>user\nhi\n<|im_end|>\n"):
            assert comes_back(text, "v0.1")
        other = "<s><|im_start|>user\nhi\n<|im_end|></s>\n"
        assert emit(parse(other, "v0.1", bos="<s>", eos="</s>"), "v0.1", bos="<s>", eos="</s>") == other
        assert refusal(other, "v0.1") == "E-PARSE-FRAME"

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("<|im_start|>user\nhi", "E-STREAM-TRUNCATED"),
            ("<|im_start|>us", "E-STREAM-TRUNCATED"),
            ("<|im_start|>user\na<|im_start|>user\nb\n<|im_end|>", "E-STREAM-TRUNCATED"),
            ("hi <|im_start|>user\nhi\n<|im_end|>", "E-PARSE-FRAME"),
            ("<|im_end|>", "E-PARSE-FRAME"),
            ("<|im_start|>user\nhi\n<|im_end|>[EOS] x", "E-PARSE-FRAME"),
            ("<|im_start|>user\nhi\n<|im_end|><|fim_prefix|>", "E-PARSE-FRAME"),
        ],
    )
    def test_where_text_may_not_stand_or_end(self, text: str, code: str) -> None:
        assert refusal(text, "v0.1") == code

    @pytest.mark.parametrize(
        ("text", "format", "tail"),
        [
            ("<|im_start|>us", "v0.1", "<|im_start|>us"),
            ("<|im_start|>user\nhi\n<|im_end|>\n<|im_st", "v0.1", "<|im_st"),
            ("<<US", "rwkv", "<<US"),
            ("<<USER>>\nhi\n<<USER_END>>\n<<AS", "rwkv", "<<AS"),
        ],
    )
    def test_the_beginning_of_a_header_is_kept_as_it_was(self, text: str, format: str, tail: str) -> None:
        assert parse(text, format, partial=True).tail == tail

    def test_an_open_header_is_pending_with_and_without_its_line_break(self) -> None:
        for text in ("<|im_start|>assistant", "<|im_start|>assistant\n"):
            assert to_json(parse(text, "v0.1"))["pending"] == {"role": "assistant"}
            assert emit(parse(text, "v0.1"), "v0.1") == "<|im_start|>assistant\n"


class TestBlocks:
    def content(self, body: str, role: str = "assistant") -> list[dict[str, Any]]:
        text = f"<|im_start|>{role}\n{body}\n<|im_end|>\n"
        assert parse(emit(parse(text, "v0.1"), "v0.1"), "v0.1") == parse(text, "v0.1")
        read: list[dict[str, Any]] = messages(text, "v0.1")[0]["content"]
        return read

    def kinds(self, body: str, role: str = "assistant") -> list[str]:
        return [block.get("token") or block["type"] for block in self.content(body, role)]

    def test_thoughts_stand_between_their_own_tokens(self) -> None:
        assert self.kinds("<|start_reason|>x<|end_reason|>\nso") == ["thinking", "text"]
        assert self.kinds("<|start_reason|>x<|end_reflect|>") == ["<|start_reason|>", "text", "<|end_reflect|>"]
        assert self.kinds("<|start_reason|>a<|reason|>b<|end_reason|>")[0] == "<|start_reason|>"

    def test_function_blocks_count_only_in_their_role(self) -> None:
        assert self.kinds(CALL) == ["tool_use"]
        assert self.kinds(CALL, "user") == ["<|function_call|>", "text"]
        assert self.kinds('<|function_output|>{"name": "f", "content": [1]}', "tool") == ["tool_result"]
        assert self.kinds("<|function_list|>\n{}\n[]\nand so on", "system") == ["tools", "text"]

    @pytest.mark.parametrize(
        "payload",
        [
            "",
            "text",
            "[]",
            '{"name": "f"}',
            '{"name": 1, "arguments": {}}',
            '{"name": "f", "arguments": []}',
            '{"name": "f", "arguments": {}',
            '{"name": "f", "arguments": {"a": NaN}}',
            '{"name": "f", "arguments": {"a": "<|reason|>"}}',
        ],
    )
    def test_a_token_before_anything_else_is_a_mark(self, payload: str) -> None:
        assert self.kinds(f"<|function_call|>{payload}")[0] == "<|function_call|>"
        text = f"<|im_start|>assistant\n<|function_call|>{payload}\n<|im_end|>\n"
        assert "E-CALL-SCHEMA" in lint(parse(text, "v0.1"), "v0.1")

    def test_the_exact_text_of_arguments_and_of_other_keys_is_kept(self) -> None:
        body = '<|function_call|>\n{"name": "f",  "arguments": {"b":1, "a" : 2}, "x": null}'
        [block] = self.content(body)
        assert (block["raw"], block["envelope"]) == ('{"b":1, "a" : 2}', body.split("\n", 1)[1])
        assert comes_back(f"<|im_start|>assistant\n{body}\n<|im_end|>\n", "v0.1")

    def test_a_second_token_opens_a_block_or_closes_the_first(self) -> None:
        [first, second] = self.content(f"{CALL}\n{CALL}")
        assert not first.get("closed")
        assert not second.get("closed")
        [closed, text] = self.content(f"{CALL}\n<|function_call|>\nand then")
        assert (closed["closed"], text["text"]) == (True, "and then")

    def test_one_line_break_beside_a_block_is_layout(self) -> None:
        assert self.content(f"a\n{CALL}\nb") == self.content(f"a{CALL}b")
        assert [block.get("text") for block in self.content(f"a\n\n{CALL}\n\nb")] == ["a\n", None, "\nb"]

    def test_a_bare_sequence_is_exact(self) -> None:
        for text in (
            "<|fim_prefix|>a\n<|fim_suffix|>b<|fim_middle|> c\n",
            "one\n<|file_separator|>\ntwo",
            "\n\nplain ",
        ):
            assert messages(text, "v0.1")[0]["role"] is None
            assert comes_back(text, "v0.1")

    def test_what_v0_1_cannot_say_is_refused(self) -> None:
        for message, kind in (
            ({"role": "developer", "content": []}, Unrepresentable),
            ({"role": "user", "name": "a b", "content": []}, HeaderValue),
            ({"role": "user", "channel": "final", "content": []}, Unrepresentable),
            ({"role": "user", "content": [{"type": "text", "text": "<|reason|>"}]}, Unrepresentable),
            ({"role": "assistant", "content": [{"type": "thinking", "text": "x"}]}, Unrepresentable),
            ({"role": "assistant", "content": [{"type": "tool_use", "name": "f", "raw": "x"}]}, Unrepresentable),
            ({"role": "assistant", "stop": "return", "content": []}, Unrepresentable),
        ):
            with pytest.raises(kind):
                emit(from_json({"messages": [message]}), "v0.1")

    def test_thoughts_and_what_follows_an_open_one_are_hidden(self) -> None:
        text = "<|im_start|>assistant\na<|start_reason|>b<|end_reason|>c<|start_reflect|>d<|reason|>e\n<|im_end|>"
        assert visible(parse(text, "v0.1")) == [(0, "ac")]


class TestRWKV:
    @pytest.mark.parametrize(
        ("body", "text"),
        [
            ("\nhi\n", "hi"),
            ("hi", "hi"),
            ("\n\nhi\n\n", "\nhi\n"),
            ("\r\nhi\r\n", "hi"),
            ("\n\n", ""),
            ("", ""),
            ("\n<<SYS>> <<END_USER>>\n", "<<SYS>> <<END_USER>>"),
            ("\nhi\r\n", "hi\r"),
        ],
    )
    def test_one_break_on_each_side_is_syntax(self, body: str, text: str) -> None:
        [message] = messages(f"<<USER>>{body}<<USER_END>>", "rwkv")
        assert "".join(block["text"] for block in message["content"]) == text

    @pytest.mark.parametrize(
        "text",
        [
            "hi",
            "<<user>>\nhi\n<<user_end>>",
            "<<OTHER>>x",
            '<<USER a="b">>x<<USER_END>>',
            "<<USER>>a<<USER_END>> b",
            "<<USER>>a<<USER_END>><<USER>>",
            "<<TOOL_CALLS>>",
        ],
    )
    def test_what_is_no_block_is_refused(self, text: str) -> None:
        assert refusal(text, "rwkv") == "E-PARSE-FRAME"

    @pytest.mark.parametrize(
        "attributes",
        [
            "",
            ' name=""',
            ' id="c"',
            " name=f",
            ' name="f" name="g"',
            " name='f'",
            ' name="a<b"',
            ' name="a\\"',
            ' 1="x" name="f"',
            ' name="f\u200b"',
            ' name="f"x="y"',
        ],
    )
    def test_attributes_of_a_call_are_strict(self, attributes: str) -> None:
        assert refusal(f"<<TOOL_CALL{attributes}>>{{}}<<END_TOOL_CALL>>", "rwkv") == "E-PARSE-HEADER"

    def test_attributes_come_in_any_order_and_are_written_in_one(self) -> None:
        text = '<<TOOL_RESULT x="y z" status="late" id="c" name="f">>\n1\n<<END_TOOL_RESULT>>\n'
        [message] = messages(text, "rwkv")
        assert message["extra"] == {"x": "y z"}
        assert message["content"][0]["status"] == "late"
        assert emit(parse(text, "rwkv"), "rwkv").startswith('<<TOOL_RESULT name="f" id="c" status="late" x="y z">>\n')

    def test_a_status_is_an_error_flag_where_it_can_be(self) -> None:
        for status, failed in (("ok", False), ("error", True)):
            [message] = messages(f'<<TOOL_RESULT status="{status}">>\n1\n<<END_TOOL_RESULT>>', "rwkv")
            assert message["content"][0]["is_error"] is failed

    def test_an_open_answer_is_pending_and_other_open_blocks_are_cut_off(self) -> None:
        assert to_json(parse("<<USER>>\nhi\n<<USER_END>>\n\n<<ASSISTANT>>\n", "rwkv"))["pending"] == {
            "role": "assistant"
        }
        for text in ("<<USER>>", "<<ASSISTANT>>\nhalf", "<<ASSIS", '<<TOOL_CALL name="f'):
            assert refusal(text, "rwkv") == "E-STREAM-TRUNCATED"
        [message] = messages("<<ASSISTANT>>\nhalf<<ASS", "rwkv", partial=True)
        assert (message["content"][0]["text"], message["stop"]) == ("half<<ASS", "none")

    @pytest.mark.parametrize(("text", "format"), [
        ("<<USER>>\nhi\n<<USER_END>>\n\n<<ASSISTANT>>\n", "rwkv"),
        ("<<ASSISTANT>>\nwell", "rwkv"),
        ("<|im_start|>assistant\n", "v0.1"),
        ("<|start|>assistant<|channel|>final<|message|>so", "harmony"),
    ])  # fmt: skip
    def test_an_open_answer_is_the_one_that_goes_on(self, text: str, format: str) -> None:
        assert emit(for_completion(parse(text, format, partial=True)), format) == text

    def test_what_the_template_cannot_say_is_refused(self) -> None:
        for message, kind in (
            ({"role": "user", "content": [{"type": "text", "text": "<<USER_END>>"}]}, Unrepresentable),
            ({"role": "developer", "content": []}, Unrepresentable),
            ({"role": "user", "name": "a", "content": []}, Unrepresentable),
            ({"role": "assistant", "content": [{"type": "thinking", "text": "x"}]}, Unrepresentable),
            ({"role": "assistant", "content": [{"type": "tool_use", "name": 'a"b', "raw": "{}"}]}, HeaderValue),
            (
                {
                    "role": "assistant",
                    "extra": {"name": "x"},
                    "content": [{"type": "tool_use", "name": "f", "raw": "{}"}],
                },
                HeaderValue,
            ),
        ):
            with pytest.raises(kind):
                emit(from_json({"messages": [message]}), "rwkv")

    def test_payloads_that_are_no_objects_have_a_code(self) -> None:
        text = (
            '<<TOOL_CALL name="f" id="c">>\n[]\n<<END_TOOL_CALL>>\n\n<<TOOL_RESULT id="c">>\nno\n<<END_TOOL_RESULT>>\n'
        )
        assert lint(parse(text, "rwkv"), "rwkv") == ["E-CALL-SCHEMA", "W-PAYLOAD-NOT-OBJECT"]


@pytest.mark.slow
class TestMemory:
    """A long transcript is imported message by message: no more of it is held than a digest of each."""

    COUNT, SIZE = 20_000, 400

    def file(self) -> io.BytesIO:
        return io.BytesIO(
            b"".join(b"<|start|>user<|message|>%0*d<|end|>\n" % (self.SIZE, at) for at in range(self.COUNT))
        )

    def test_reading_holds_one_piece_of_the_file(self) -> None:
        file = self.file()
        tracemalloc.start()
        assert sum(1 for _ in read_messages(file, "2.2")) == self.COUNT
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2_000_000

    def test_an_outline_holds_a_digest_of_each(self) -> None:
        file = self.file()
        tracemalloc.start()
        assert len(outline(file, "f", "2.2", 1000).digests) == self.COUNT
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < self.COUNT * self.SIZE / 2
