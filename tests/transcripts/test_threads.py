"""A stored thread as a transcript: each message in its own form, and a head where headish writes one."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from headish import ContextWindow, Message, Store, emit
from headish.errors import UnknownServer, Unrepresentable
from headish.transcripts import FORMATS, lint, parse
from headish.transcripts.openchatml.namespaces import write_namespace
from headish.values.blocks import Text, Thinking, ToolResult, ToolUse
from headish.values.messages import Attributes

FUNCTIONS_01 = (
    '[BOS]<|im_start|>system\nYou call functions.\n<|function_list|>\n{"type": "function"}\n<|function_list|>\n'
    "Use <|reflect|> first.\n<|im_end|>\n<|im_start|>user\nTSLA?\n<|im_end|>\n<|im_start|>assistant\n"
    '<|start_reason|>look<|end_reason|>\n<|function_call|>\n{"name": "f", "arguments": {"s":1}}\n<|im_end|>\n'
    "<|im_start|>tool\nplain text of a tool\n<|im_end|>\n<|im_start|>user\n<|fim_prefix|>a<|fim_suffix|>b\n<|im_end|>"
)
UNCOMMON_20 = (
    "# a comment\nversion: 2\nmodel:   m\n\n<|start|>user name=bob x=y<|message|>\nhi\n<|end|>\n\n"
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|>"
)
ANSWER = "Fine."
ADDED = {
    "v0.1": "<|im_start|>assistant\nFine.\n<|im_end|>",
    "2.0": "<|start|>assistant<|channel|>final<|message|>Fine.<|end|>",
    "2.2": "<|start|>assistant<|channel|>final<|message|>Fine.<|end|>",
    "harmony": "<|start|>assistant<|channel|>final<|message|>Fine.<|end|>",
    "rwkv": "<<ASSISTANT>>\nFine.\n<<ASSISTANT_END>>",
}
PEAK = {
    "name": "height", "description": "How high a peak is.",
    "inputSchema": {
        "type": "object", "required": ["peak"],
        "properties": {
            "peak": {"type": "string", "description": "Its name"},
            "unit": {"type": "string", "enum": ["m", "ft"], "default": "m"},
        },
    },
}  # fmt: skip


def take_in(store: Store, text: str, format: str) -> None:
    store.import_file(io.BytesIO(text.encode()), format, bookmark="main")


class TestWhatWasImportedStays:
    @pytest.mark.parametrize(("format", "text", "between", "end"), [
        ("v0.1", FUNCTIONS_01, "\n", "[EOS]\n"),
        ("2.0", UNCOMMON_20, "\n\n", "\n"),
        ("2.2", "<|start|>user<|message|>no header<|end|>", "\n", "\n"),
        ("harmony", "<|start|>user:bob<|message|>hi<|end|>", "", ""),
        ("rwkv", '<<TOOL_CALL name="f" x="y z">>\n{}\n<<END_TOOL_CALL>>', "\n\n", "\n"),
    ])  # fmt: skip
    def test_a_turn_is_added_behind_it(self, store: Store, format: str, text: str, between: str, end: str) -> None:
        take_in(store, text + end, format)
        assert store.export("main", format) == text + end
        store.add_turn(ANSWER, role="assistant", continues="main")
        assert store.export("main", format) == text + between + ADDED[format] + end

    def test_an_answer_takes_the_place_of_the_open_header(self, store: Store) -> None:
        take_in(store, "<|im_start|>user\nhi\n<|im_end|>\n<|im_start|>assistant\n", "v0.1")
        store.add_turn(ANSWER, role="assistant", continues="main")
        assert store.export("main", "v0.1") == f"<|im_start|>user\nhi\n<|im_end|>\n{ADDED['v0.1']}\n"

    def test_the_middle_that_a_bare_sequence_asks_for_is_text_of_it(self, store: Store) -> None:
        text = "<|fim_prefix|>def f(<|fim_suffix|>): pass<|fim_middle|>"
        take_in(store, text, "v0.1")
        store.add_turn("x", role="assistant", continues="main")
        assert store.export("main", "v0.1") == text + "x"
        store.add_turn("and now?", continues="main")
        with pytest.raises(Unrepresentable, match="a bare sequence beside other messages"):
            store.export("main", "v0.1")

    def test_a_message_of_a_third_format_does_not_change_the_others(self, store: Store) -> None:
        take_in(store, "[BOS]<|im_start|>system\n<|reflect|>\n<|im_end|>[EOS]\n", "v0.1")
        store.import_file(io.BytesIO(b"<<USER>>\nhi\n<<USER_END>>\n"), "rwkv", bookmark="other")
        both = store.add_turn(ANSWER, role="assistant", continues=["main", "other"])
        assert store.export(both.id, "v0.1") == (
            "[BOS]<|im_start|>system\n<|reflect|>\n<|im_end|>\n<|im_start|>user\nhi\n<|im_end|>\n"
            f"{ADDED['v0.1']}[EOS]\n"
        )
        with pytest.raises(Unrepresentable, match=r'a mark .*drop="mark"'):
            store.export(both.id, "rwkv")
        assert store.export(both.id, "rwkv", drop="mark").startswith("<<SYS>>\n\n<<SYS_END>>\n\n<<USER>>")


class TestFromTheModel:
    """What a provider said is written straight into each format."""

    CALL = ToolUse("f", "c1", {"a": 1})

    def window(self, *content: Any, failed: bool | None = True) -> ContextWindow:
        result = ToolResult("c1", None, (Text("no such peak"),), failed)
        said = (Message(role="assistant", content=content), Message(role="tool", content=(result,)))
        return ContextWindow(said, {})

    @pytest.mark.parametrize(("format", "shown"), [("v0.1", '"is_error": true'), ("rwkv", 'status="error"')])
    def test_an_error_flag_goes_where_it_can(self, format: str, shown: str) -> None:
        assert shown in str(emit(self.window(self.CALL), format))

    @pytest.mark.parametrize("format", ["2.0", "2.2", "harmony"])
    def test_and_is_refused_where_it_cannot(self, format: str) -> None:
        with pytest.raises(Unrepresentable) as refused:
            emit(self.window(self.CALL), format)
        assert "is_error" in refused.value.drops
        assert "no such peak" in str(emit(self.window(self.CALL), format, drop=refused.value.drops))

    @pytest.mark.parametrize("format", ["v0.1", "2.0", "2.2", "harmony", "rwkv"])
    def test_a_flag_that_says_no_error_is_never_in_the_way(self, format: str) -> None:
        assert "no such peak" in str(emit(self.window(self.CALL, failed=False), format, drop=["call_id"]))

    def test_nothing_that_headish_fills_in_has_to_be_dropped(self) -> None:
        window = self.window(Text("I look."), self.CALL, failed=None)
        for format, words in {"2.0": ("call_id",), "harmony": ("call_id",), "2.2": (), "v0.1": (), "rwkv": ()}.items():
            if words:
                with pytest.raises(Unrepresentable) as refused:
                    emit(window, format)
                assert refused.value.drops == words
            assert "I look." in str(emit(window, format, drop=words))

    def test_the_plan_before_a_call_is_not_hidden_in_2_0(self) -> None:
        text = str(emit(self.window(Text("I look."), self.CALL, failed=None), "2.0", drop="call_id"))
        assert "<|start|>assistant<|channel|>final<|message|>I look.<|end|>" in text

    def test_blocks_of_one_message_stay_one_message_in_0_1(self) -> None:
        content = (Thinking("why", "reason"), Text("I look."), self.CALL)
        text = str(emit(self.window(*content, failed=None), "v0.1"))
        assert text.startswith(
            "<|im_start|>assistant\n<|start_reason|>why<|end_reason|>\nI look.\n<|function_call|>\n"
            '{"arguments": {"a":1}, "name": "f", "id": "c1"}\n<|im_end|>\n<|im_start|>tool\n'
        )

    def test_a_frame_s_reply_leaves_without_its_frame(self) -> None:
        framed = Attributes(recipient="assistant", channel="commentary")
        result = ToolResult("c1", "functions.f", (Text("1"),))
        window = ContextWindow((Message(role="tool", content=(result,), attributes=framed),), {})
        assert emit(window, "rwkv") == '<<TOOL_RESULT name="f" id="c1">>\n1\n<<END_TOOL_RESULT>>\n'

    def test_one_refusal_names_every_word(self) -> None:
        signed = Thinking("why", signature="s", provider="p")
        with pytest.raises(Unrepresentable) as refused:
            emit(self.window(signed, self.CALL), "harmony")
        assert sorted(refused.value.drops) == ["call_id", "is_error", "signature"]
        with pytest.raises(Unrepresentable) as refused:
            emit(self.window(signed, self.CALL), "rwkv")
        assert refused.value.drops == ("thinking",)


class TestHeads:
    def test_the_header_says_the_model_and_the_settings(self, store: Store) -> None:
        params = {"model": "m", "temperature": 0.5, "top_k": 3, "unheard_of": 1}
        store.add_turn("hi", bookmark="main", inherited={"params": params})
        exported = store.export("main")
        assert exported.startswith(
            'version: 2.2\nmodel: "m"\ngeneration_settings: {"temperature": 0.5, "top_k": 3}\n\n'
        )
        store.import_file(io.BytesIO(exported.encode()), bookmark="again")
        assert store.options("again") == {"params": {"model": "m", "temperature": 0.5, "top_k": 3}}
        assert store.export("again") == exported
        assert "model" not in store.export("main", as_user=True)

    @pytest.mark.parametrize("target", ["2.0", "2.2"])
    def test_a_thread_from_another_format_has_a_header(self, store: Store, target: str) -> None:
        take_in(store, "<<USER>>\nhi\n<<USER_END>>\n", "rwkv")
        assert "W-HEADER-MISSING" not in lint(parse(store.export("main", target)), target)

    def test_the_header_says_the_model_of_the_pointer_where_params_name_none(self, store: Store) -> None:
        store.pointers.set("milli", "openai/small-1")
        store.add_turn("Hi", bookmark="main", provider_ptr="milli", inherited={"params": {"seed": 7}})
        begins = 'version: 2.2\nmodel: "small-1"\ngeneration_settings: {"seed": 7}\n\n'
        assert store.export("main").startswith(begins)
        assert "model" not in store.export("main", as_user=True)
        store.add_turn("Again", continues="main", inherited={"params": {"model": "large"}})
        assert 'model: "large"' in store.export("main")
        assert 'model: "small-1"' in store.export("main~1")

    def test_a_pointer_that_is_not_here_says_nothing(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main", provider_ptr="elsewhere")
        assert store.export("main").startswith("version: 2.2\n\n")

    def test_a_completion_tells_the_model_its_tools(self, store: Store) -> None:
        store.tools.set("peaks", [PEAK])
        store.add_turn("Be brief.", role="system", bookmark="main", servers=["peaks"])
        store.add_turn("K2?", continues="main")
        assert store.export("main", "harmony", for_completion=True) == (
            "<|start|>system<|message|>Be brief.<|end|><|start|>developer<|message|># Tools\n\n## functions\n\n"
            "namespace functions {\n\n// How high a peak is.\ntype peaks___height = (_: {\n// Its name\npeak: string,\n"
            'unit?: "m" | "ft", // default: m\n}) => any;\n\n} // namespace functions<|end|>'
            "<|start|>user<|message|>K2?<|end|><|start|>assistant"
        )
        listed = parse(store.export("main", "v0.1"), "v0.1").messages[1].content[0]
        assert json.loads(listed.raw) == {  # type: ignore[union-attr]
            "type": "function",
            "function": {
                "name": "peaks___height", "description": PEAK["description"], "parameters": PEAK["inputSchema"],
            },
        }  # fmt: skip
        assert '"name": "peaks___height"' in store.export("main", "2.0")
        assert "peaks___height" not in store.export("main", "rwkv")
        assert "peaks___height" not in store.export("main", as_user=True)

    def test_tools_that_nobody_stored_are_left_out_but_not_of_a_prompt(self, store: Store) -> None:
        store.add_turn("K2?", bookmark="main", servers=["unheard_of"])
        assert store.export("main") == "version: 2.2\n\n<|start|>user<|message|>K2?<|end|>\n"
        with pytest.raises(UnknownServer):
            store.export("main", for_completion=True)

    def test_tools_are_told_behind_what_was_imported(self, store: Store) -> None:
        text = "<|start|>user<|message|>hi<|end|>"
        take_in(store, text, "harmony")
        store.tools.set("peaks", [PEAK])
        store.add_turn("K2?", continues="main", servers=["peaks"])
        assert store.export("main", "harmony").startswith(text + "<|start|>developer<|message|># Tools")

    def test_schemas_become_types(self) -> None:
        schema = {
            "properties": {
                "n": {"type": ["integer", "null"], "default": 3},
                "list": {"type": "array", "items": {"enum": [1, "a"]}},
                "deep": {"type": "object", "properties": {"x": {"anyOf": [{"type": "boolean"}, {}]}}}, "odd": True,
            },
        }  # fmt: skip
        assert write_namespace([{"name": "f", "parameters": schema}, {"name": "g"}]) == (
            'namespace functions {\n\ntype f = (_: {\nn?: number | null, // default: 3\nlist?: (1 | "a")[],\n'
            "deep?: {\nx?: boolean | any,\n},\nodd?: any,\n}) => any;\n\ntype g = () => any;\n\n"
            "} // namespace functions"
        )


class TestEndings:
    def test_a_completion_to_any_format_drops_the_reasoning_of_finished_turns(self, store: Store) -> None:
        store.add_turn("hi", bookmark="main")
        store.add_turn([{"type": "thinking", "text": "why"}, "Yo."], role="assistant", continues="main")
        store.add_turn("And now?", continues="main")
        assert store.export("main", "rwkv", for_completion=True).endswith(
            "<<ASSISTANT>>\nYo.\n<<ASSISTANT_END>>\n\n<<USER>>\nAnd now?\n<<USER_END>>\n\n<<ASSISTANT>>\n"
        )

    def test_a_final_answer_for_training_ends_in_return(self, store: Store) -> None:
        store.add_turn("hi", bookmark="main")
        store.add_turn("Yo.", role="assistant", continues="main")
        assert store.export("main", "harmony", for_training=True).endswith("<|message|>Yo.<|return|>")
        store.add_turn("And now?", continues="main")
        assert "<|return|>" not in store.export("main", "harmony", for_training=True)

    def test_the_policy_of_harmony_is_its_renderer_s(self, store: Store) -> None:
        text = (
            "<|start|>user<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>one<|end|>"
            "<|start|>user<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>B<|end|>"
        )
        take_in(store, text, "harmony")
        assert "one" in store.export("main", "harmony", for_completion=True)
        assert "one" not in store.export("main", "harmony", for_completion=True, policy="harmony")

    @pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
    def test_a_thread_leaves_as_the_messages_of_an_api(self, store: Store, api: str) -> None:
        store.add_turn("hi", bookmark="main")
        store.add_turn("Yo.", role="assistant", continues="main")
        said = json.loads(store.export("main", api))
        assert [each["role"] for each in said["input" if api == "responses" else "messages"]] == ["user", "assistant"]


class TestAnswersThatWereCutOff:
    """A text goes on where an answer broke off: its last message has no end. No format says so of an earlier one."""

    def cut(self, store: Store, text: str) -> None:
        store.add_turn("Question?", bookmark="main")
        delta = {"role": "assistant", "content": text}
        store.reply("main", "openai", [{"model": "small-1", "choices": [{"index": 0, "delta": delta}]}])

    @pytest.mark.parametrize("as_user", [False, True])
    @pytest.mark.parametrize("format", FORMATS)
    def test_come_back_cut_off(self, store: Store, format: str, as_user: bool) -> None:
        self.cut(store, "Hel")
        text = store.export("main", format, as_user=as_user)
        assert text.endswith("Hel")
        store.import_file(io.BytesIO(text.encode()), format, bookmark="back", partial=True)
        assert (store.text("back"), store.get("back").meta.is_cut_off) == ("Hel", True)
        assert store.export("back", format) == text

    @pytest.mark.parametrize("format", ["chat", "responses", "anthropic"])
    def test_are_refused_where_nothing_can_say_so(self, store: Store, format: str) -> None:
        self.cut(store, "Hel")
        with pytest.raises(Unrepresentable, match=r'a message that was cut off .*drop="stop"'):
            store.export("main", format)
        assert '"Hel"' in store.export("main", format, drop="stop")

    @pytest.mark.parametrize("format", [*FORMATS, "chat"])
    def test_are_refused_before_the_end(self, store: Store, format: str) -> None:
        self.cut(store, "Hel")
        store.add_turn("Go on.", continues="main")
        with pytest.raises(Unrepresentable, match=r'drop="stop"'):
            store.export("main", format)
        assert "Go on." in store.export("main", format, drop="stop")

    @pytest.mark.parametrize("format", ["v0.1", "rwkv"])
    def test_are_refused_if_they_would_look_like_a_prompt(self, store: Store, format: str) -> None:
        self.cut(store, "")
        with pytest.raises(Unrepresentable, match=r'an unfinished message without content .*drop="stop"'):
            store.export("main", format)

    def test_go_on_in_a_prompt(self, store: Store) -> None:
        self.cut(store, "Hel")
        assert store.export("main", for_completion=True).endswith("<|message|>Hel")
