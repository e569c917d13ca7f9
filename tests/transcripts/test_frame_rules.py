"""OpenChatML 2.x and Harmony, rule by rule: what is read, what is refused and with which code, what is written."""

from __future__ import annotations

from typing import Any

import pytest

from headish.errors import HeaderValue, HeadishError, Unrepresentable
from headish.transcripts import emit, from_json, lint, parse, to_json, visible
from support.transcripts.rules import USER, body, messages, refusal


class TestHeaders:
    @pytest.mark.parametrize(
        ("start", "said"),
        [
            ("user", {"role": "user"}),
            ("user:ada", {"role": "user", "name": "ada"}),
            ("assistant to=user", {"role": "assistant", "to": "user"}),
            ("user \n name=ada\tx=1", {"role": "user", "name": "ada", "extra": {"x": "1"}}),
            ("user name=ada name=ada", {"role": "user", "name": "ada"}),
            ("assistant<|channel|>final intent=status", {"role": "assistant", "channel": "final", "intent": "status"}),
            ("user to=all json", {"role": "user", "to": "all", "content_type": "json"}),
            ("user<|constrain|> text ", {"role": "user", "constrain": "text"}),
        ],
    )
    def test_what_a_header_says(self, start: str, said: dict[str, Any]) -> None:
        [message] = messages(f"<|start|>{start}<|message|>hi<|end|>")
        assert {key: value for key, value in message.items() if key != "content"} == said

    @pytest.mark.parametrize(
        "start",
        [
            "",
            "robot",
            "user final",
            "user name=",
            "user name=a name=b",
            "user na me=x",
            "user 1x=2",
            "user name=a\x07",
            "assistant<|channel|> final",
            "assistant<|channel|>Final",
            "assistant<|channel|>other",
            "assistant<|channel|>final<|channel|>final",
            "assistant<|constrain|>json<|channel|>final",
            "user<|constrain|>",
            "user<|constrain|>a b",
            "user<|end|>",
            "user<|literal|>x<|endliteral|>",
            "user name=a<b",
            "user name=\u200b",
            "USER",
            "tool:x",
            "user: name=x",
        ],
    )
    def test_what_no_header_says(self, start: str) -> None:
        assert refusal(f"<|start|>{start}<|message|>hi<|end|>") == "E-PARSE-HEADER"

    @pytest.mark.parametrize(
        ("start", "name"),
        [
            ("functions.f", "functions.f"),
            ("functions.a.b", "functions.a.b"),
            ("python", "python"),
            ("browser.search", "browser.search"),
            ("other to=assistant", "other"),
            ("tool name=functions.f", "functions.f"),
        ],
    )
    def test_a_tool_answers_under_its_own_name(self, start: str, name: str) -> None:
        [message] = messages(f"<|start|>{start}<|message|>1<|end|>")
        assert (message["role"], message["content"][0]["name"]) == ("tool", name)

    def test_harmony_s_bare_words_are_a_recipient_and_a_type(self) -> None:
        [message] = messages("<|start|>assistant<|channel|>commentary functions.f json<|message|>{}<|call|>", "harmony")
        assert (message["content"][0]["name"], message["content_type"]) == ("functions.f", "json")
        assert refusal("<|start|>assistant<|channel|>final json<|message|>{}<|end|>", "2.2") == "E-PARSE-HEADER"
        assert refusal("<|start|>user to=all json<|message|>{}<|end|>", "2.0") == "E-PARSE-HEADER"

    def test_canonical_order_is_that_of_the_worked_examples(self) -> None:
        text = "<|start|>assistant intent=i name=n call_id=c to=functions.f<|channel|>commentary<|message|>{}<|call|>"
        assert emit(parse(text), "2.2").startswith(
            "<|start|>assistant to=functions.f call_id=c name=n intent=i<|channel|>"
        )
        reply = "<|start|>tool to=assistant call_id=c name=functions.f x=1<|message|>1<|end|>"
        assert emit(parse(reply), "2.2").startswith(
            "<|start|>tool name=functions.f call_id=c to=assistant x=1<|message|>"
        )


class TestFrames:
    def test_only_blanks_stand_between_frames(self) -> None:
        assert len(messages(f"{USER}a<|end|> \r\n\t{USER}b<|end|>")) == 2
        for between in ("x", "<|end|>", "\u00a0", "<|im_start|>user\nhi<|im_end|>"):
            assert refusal(f"{USER}a<|end|>{between}{USER}b<|end|>") == "E-PARSE-FRAME"

    def test_an_end_right_behind_a_call_or_return_belongs_to_it(self) -> None:
        call = "<|start|>assistant to=functions.f<|message|>{}<|call|>"
        assert len(messages(f"{call} <|end|>\n{USER}x<|end|>")) == 2
        assert refusal(f"{call}<|end|><|end|>") == "E-PARSE-FRAME"

    def test_bodies_are_exact(self) -> None:
        assert body(f"{USER}\n a \r\n\n<|end|>") == "\n a \r\n\n"

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            (f"{USER}a{USER}b<|end|>", "E-STREAM-TRUNCATED"),
            (f"{USER}a", "E-STREAM-TRUNCATED"),
            ("<|sta", "E-STREAM-TRUNCATED"),
            ("<|start|>assistant<|channel|>final", "E-STREAM-TRUNCATED"),
            (f"{USER}<|literal|>a", "E-STREAM-TRUNCATED"),
            (f"{USER}a<|channel|>b<|end|>", "E-PARSE-FRAME"),
            (f"{USER}a<|endliteral|><|end|>", "E-PARSE-FRAME"),
            (f"{USER}a<|message|>b<|end|>", "E-PARSE-FRAME"),
        ],
    )
    def test_where_a_body_may_not_end_or_hold_a_token(self, text: str, code: str) -> None:
        assert refusal(text) == code

    def test_in_harmony_all_but_terminators_is_text(self) -> None:
        assert body("<|start|>user<|message|>a<|start|>b<|channel|>c<|end|>", "harmony") == "a<|start|>b<|channel|>c"

    def test_a_partial_reading_keeps_what_came(self) -> None:
        [message] = messages(f"{USER}half <|en", partial=True)
        assert (message["content"], message["stop"]) == ([{"type": "text", "text": "half <|en"}], "none")
        assert to_json(parse("<|start|>assistant<|channel|>fi", "2.2", partial=True))["tail"].endswith("<|channel|>fi")
        with pytest.raises(Unrepresentable):
            emit(parse("<|start|>assistant<|channel|>fi", "2.2", partial=True), "2.2")

    def test_an_open_header_is_pending(self) -> None:
        text = f"{USER}hi<|end|>\n<|start|>assistant"
        assert to_json(parse(text, "2.2"))["pending"] == {"role": "assistant"}
        assert emit(parse(text, "2.2"), "2.2") == text

    def test_an_assistant_s_message_to_a_tool_is_a_call_whatever_ends_it(self) -> None:
        [message] = messages("<|start|>assistant to=functions.f<|message|>x y<|end|>")
        assert message["content"] == [{"type": "tool_use", "name": "functions.f", "raw": "x y"}]
        assert message["stop"] == "end"
        [message] = messages("<|start|>assistant to=user<|message|>x<|call|>")
        assert (message["content"][0]["type"], message["stop"]) == ("text", "call")

    def test_a_reply_fails_where_its_envelope_says_so(self) -> None:
        for said, failed in (('{"ok": false}', True), ('{"ok": true}', None), ('["ok", false]', None), ("no", None)):
            [message] = messages(f"<|start|>tool name=functions.f<|message|>{said}<|end|>")
            assert message["content"][0].get("is_error") is failed

    def test_analysis_is_thinking_of_the_kind_that_its_marker_says(self) -> None:
        start = "<|start|>assistant<|channel|>analysis<|message|>"
        for said, thought in (
            ("<|start_reflect|>x", {"type": "thinking", "text": "x", "kind": "reflect"}),
            ("x<|start_reflect|>", {"type": "thinking", "text": "x<|start_reflect|>"}),
            ("<|start_reason|>x<|end_reason|>", {"type": "thinking", "text": "<|start_reason|>x<|end_reason|>"}),
            ("", {"type": "thinking", "text": ""}),
        ):
            text = f"{start}{said}<|end|>\n"
            assert messages(text)[0]["content"] == [thought]
            assert emit(parse(text), "2.2") == text

    def test_a_constraint_is_checked_and_can_be_waived(self) -> None:
        for said in ('{"a":}', "", "NaN", "1e999", "[" * 513 + "]" * 513):
            text = f"<|start|>user<|constrain|>JSON<|message|>{said}<|end|>"
            assert refusal(text) == "E-BODY-CONSTRAINT-VIOLATION"
            assert messages(text, strict=False)
        for said in ("1", '{"a":1,"a":2}', r'"\ud800"', "[" * 512 + "]" * 512):
            assert messages(f"<|start|>user<|constrain|>json<|message|>{said}<|end|>")
        assert messages("<|start|>user<|constrain|>yaml<|message|>{<|end|>")


class TestEscapes:
    @pytest.mark.parametrize(
        ("written", "text"),
        [
            ("<<|end|>", "<|end|>"),
            ("<<<|end|>", "<<|end|>"),
            ("<<", None),
            ("a << b", "a << b"),
            ("<<|foo|>", "<<|foo|>"),
            ("<<|start_reason|>", "<<|start_reason|>"),
            ("<|literal|><|end|><|endliteral|>", "<|end|>"),
            ("x <|literal|><<|endliteral|>", "x <"),
            ("<|literal|><|endliteral|>x", "x"),
            ("< |end|>", "< |end|>"),
            ("<|END|>", "<|END|>"),
        ],
    )
    def test_a_run_of_angles_before_a_token_stands_for_one_less(self, written: str, text: str | None) -> None:
        if text is None:
            assert refusal(f"{USER}{written}<|end|>") == "E-STREAM-TRUNCATED"
        else:
            assert body(f"{USER}{written}<|end|>") == text

    def test_text_that_ends_in_angles_does_not_swallow_its_end(self) -> None:
        for text in ("a <", "<<<", "<|end|><"):
            model = {"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}
            assert to_json(parse(emit(from_json(model), "2.2"), "2.2")) == model

    def test_a_literal_block_is_opaque_and_comes_back_as_one(self) -> None:
        text = f"{USER}a<|literal|>\n<|start|><<|end|>\n<|endliteral|>b<|end|>\n"
        assert [block.get("literal") for block in messages(text)[0]["content"]] == [None, True, None]
        assert emit(parse(text), "2.2") == text

    def test_forms_without_escapes_refuse_a_token_in_a_text(self) -> None:
        model = from_json({"messages": [{"role": "user", "content": [{"type": "text", "text": "a<|end|>b"}]}]})
        for format in ("2.0", "harmony"):
            with pytest.raises(Unrepresentable):
                emit(model, format)
        assert "<<|end|>" in emit(model, "2.2")


def call(**message: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "name": message.pop("tool", "functions.f"), "raw": "{}", **message.pop("block", {})}
    return {"role": "assistant", "channel": "commentary", "content": [block], **message}


def reply(name: str | None, **message: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "content": [{"type": "text", "text": "1"}], **({"name": name} if name else {})}
    return {"role": "tool", "content": [{**block, **message.pop("block", {})}], **message}


def text(said: str = "x", **message: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": said}], **message}


class TestWhatCannotBeSaid:
    @pytest.mark.parametrize(
        ("format", "message", "kind"),
        [
            ("2.2", text(name="a b"), HeaderValue),
            ("2.2", text(extra={"to": "x"}), HeaderValue),
            ("2.2", text(extra={"a b": "x"}), HeaderValue),
            ("2.2", text(channel="other"), Unrepresentable),
            ("2.2", text(role="assistant", channel="analysis"), Unrepresentable),
            ("2.2", text(role="tool"), Unrepresentable),
            ("2.2", text(role=None), Unrepresentable),
            ("2.2", text(role="assistant", to="functions.f"), Unrepresentable),
            ("2.2", call(to="functions.g"), Unrepresentable),
            ("2.2", call(tool="user"), HeaderValue),
            ("2.2", reply("functions.f", block={"is_error": True}), Unrepresentable),
            ("2.2", reply("functions.f", block={"status": "late"}), Unrepresentable),
            ("2.2", {"role": "user", "content": [{"type": "mark", "token": "x"}]}, Unrepresentable),
            (
                "2.2",
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                Unrepresentable,
            ),
            ("2.0", call(block={"id": "c"}), Unrepresentable),
            ("2.0", text(intent="preamble"), Unrepresentable),
            ("2.0", call(constrain="json"), Unrepresentable),
            ("2.0", reply("user"), HeaderValue),
            ("2.0", reply("other"), Unrepresentable),
            ("harmony", reply(None), Unrepresentable),
            ("harmony", reply("other"), Unrepresentable),
            ("harmony", text(extra={"x": "1"}), Unrepresentable),
            ("harmony", text(content_type="json"), Unrepresentable),
            ("harmony", text(to="all"), Unrepresentable),
            ("harmony", call(content_type="json", constrain="json"), Unrepresentable),
            ("harmony", {"role": "user", "content": [{"type": "text", "text": "a", "literal": True}]}, Unrepresentable),
        ],
    )
    def test_it_is_refused_by_name(self, format: str, message: dict[str, Any], kind: type[HeadishError]) -> None:
        with pytest.raises(kind):
            emit(from_json({"messages": [message]}), format)

    @pytest.mark.parametrize(
        ("word", "message"),
        [
            ("call_id", call(block={"id": "c"})),
            ("intent", text(intent="status")),
            ("extra", text(extra={"x": "1"})),
            ("literal", {"role": "user", "content": [{"type": "text", "text": "a", "literal": True}]}),
            ("content_type", text(content_type="json")),
        ],
    )
    def test_what_is_given_up_by_name_is_left_out(self, word: str, message: dict[str, Any]) -> None:
        model = from_json({"messages": [message]})
        with pytest.raises(Unrepresentable) as error:
            emit(model, "harmony")
        assert error.value.drop == word
        assert emit(model, "harmony", drop=[word])


@pytest.mark.parametrize("name", ["funs", "user"])
def test_an_open_header_of_a_tool_is_held_to_the_rules_of_replies(name: str) -> None:
    """Found by fuzzing: written under its own name it would not have been read as a tool's again."""
    opened = parse(f"version: 2.0\n\n<|start|>tool name={name}", "2.0")
    with pytest.raises(Unrepresentable):
        emit(opened, "2.0")
    assert emit(parse("version: 2.0\n\n<|start|>tool name=functions.f", "2.0"), "2.0").endswith("<|start|>functions.f")


class TestWire:
    def test_harmony_is_written_as_its_own_parser_reads_it(self) -> None:
        model = {
            "messages": [
                text(name="ada"),
                call(constrain="json"),
                reply("functions.f", to="assistant", channel="commentary"),
            ]
        }
        assert emit(from_json(model), "harmony") == (
            "<|start|>user:ada<|message|>x<|end|>"
            "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>"
            "<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|>"
        )


class TestLint:
    @pytest.mark.parametrize(
        ("said", "code"),
        [
            ("<|start|>assistant to=functions.f call_id=c<|message|>{}<|call|>", "W-CALL-CHANNEL"),
            ("<|start|>assistant to=functions.f call_id=c<|channel|>commentary<|message|>{}<|end|>", "W-CALL-STOP"),
            ("<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|call|>", "W-CALL-ID-MISSING"),
            ("<|start|>assistant to=functions.f call_id=c<|channel|>commentary<|message|>[]<|call|>", "E-CALL-SCHEMA"),
            ("<|start|>user<|message|>x<|return|>", "W-RETURN-PLACE"),
            ("<|start|>tool<|message|>x<|end|>", "W-TOOL-NAME"),
            ("<|start|>user<|constrain|>yaml<|message|>x<|end|>", "W-CONSTRAIN-UNKNOWN"),
            ("<|start|>user intent=preamble<|message|>x<|end|>", "W-INTENT-PLACE"),
            ("<|start|>assistant<|message|>a<|start_reason|>b<|end|>", "W-COT-PLACE"),
        ],
    )
    def test_what_is_odd_has_a_code(self, said: str, code: str) -> None:
        assert code in lint(parse(said), "2.2")

    def test_python_s_code_is_no_json_and_may_sit_on_analysis(self) -> None:
        said = "<|start|>assistant to=python call_id=c<|channel|>analysis<|message|>1+1<|call|>"
        assert not {"E-CALL-SCHEMA", "W-CALL-CHANNEL"} & set(lint(parse(said), "2.2"))


def test_reasoning_in_an_answer_is_cut_and_a_user_s_words_are_not() -> None:
    said = "a<|start_reason|>b<|end_reason|>c<|start_reflect|>d<|end_reason|>e"
    text = f"<|start|>user<|message|>{said}<|end|><|start|>assistant<|message|>{said}<|end|>"
    assert visible(parse(text)) == [(0, said), (1, "ac")]
