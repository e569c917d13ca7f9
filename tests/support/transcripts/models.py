"""Texts and models of transcripts for property tests, made of the pieces that matter to a parser.

Used by tests/transcripts and by the tests of transcripts in a store (tests/imports).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from headish.errors import HeadishError
from headish.transcripts import Transcript, open_parser, to_json

FORMATS = ("v0.1", "2.0", "2.2", "harmony", "rwkv")
FRAMES = (
    "<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|constrain|>", "<|return|>", "<|end|>", "<|literal|>",
    "<|endliteral|>", "<", "<<", "<|", "|>", "<|start_reason|>", "<|end_reason|>", "<|en", "user", "assistant", "tool",
    "system", "functions.f", "python", " ", "\n", "\r\n", "analysis", "commentary", "final", " to=functions.f",
    " to=user", " name=bob", "user:al", " call_id=c", " intent=preamble", " x=y", " content_type=json", " json", "json",
    "{}", '{"ok":false}', "NaN", "hi", "é", "\u2028", "version: 2.2\n", "version: 2.0\n\n", "---\n", "a: [1, x]\n",
    "<|start|>user<|message|>", "<|start|>assistant<|channel|>final<|message|>",
    "<|start|>assistant to=functions.f<|channel|>commentary<|message|>", "<|start|>tool name=f<|message|>",
)  # fmt: skip
CHATML = (
    "<|im_start|>", "<|im_end|>", "<|im_st", "<|", "<", "user", "assistant", "tool", "system", " name=bob", "\n",
    "\r\n", " ", "[BOS]", "[EOS]", "hi", "é", "<|reflect|>", "<|start_reason|>", "<|end_reason|>", "<|fim_prefix|>",
    "<|function_call|>", "<|function_output|>", "<|function_list|>", '{"arguments": {"a":1}, "name": "f"}',
    '{"name": "f", "arguments": {}, "x": 1}', '{"name": "f", "content": "1"}', '{"name": "f", "content": [1]}', "{}",
    "[]", "<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_start|>tool\n", "<|im_start|>system\n",
    "\n<|im_end|>\n",
)  # fmt: skip
RWKV = (
    "<<SYS>>", "<<SYS_END>>", "<<USER>>", "<<USER_END>>", "<<ASSISTANT>>", "<<ASSISTANT_END>>", "<<TOOL_CALL",
    '<<TOOL_CALL name="f" id="c">>', "<<END_TOOL_CALL>>", "<<TOOL_RESULT", '<<TOOL_RESULT name="f" status="ok">>',
    "<<END_TOOL_RESULT>>", ' name="g"', ' x="y z"', ">>", "<<", "<", "\n", "\r\n", "\r", " ", "hi", "{}", "é",
    "<<USER_EN",
    "<<USER>>\n", "\n<<USER_END>>\n\n", "\n<<ASSISTANT_END>>\n",
)  # fmt: skip
PIECES = {"v0.1": CHATML, "rwkv": RWKV, "2.0": FRAMES, "2.2": FRAMES, "harmony": FRAMES}


def texts_of(format: str) -> st.SearchStrategy[str]:
    """Texts that are now and then a transcript of a format, and otherwise nearly."""
    return st.lists(st.sampled_from(PIECES[format]), max_size=14).map("".join)


def outcome(format: str, chunks: list[str] | list[bytes], **settings: Any) -> Any:
    """What comes of feeding chunks: the model, or the error with its place."""
    partial = settings.pop("partial", False)
    parser = open_parser(format, **settings)
    try:
        for chunk in chunks:
            parser.feed(chunk)
        parser.end_input()
        return to_json(parser.finish(partial=partial))
    except HeadishError as error:
        return (error.code, str(error))


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """A text in pieces."""
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    edges = [0, *places, len(text)]
    return [text[begin:end] for begin, end in pairwise(edges)]


def less_layout(transcript: Transcript) -> dict[str, Any]:
    """The model without what only layout needs, and without ``is_error: false``."""
    data = to_json(transcript)
    for key in ("bos", "eos", "header_raw"):
        data.pop(key, None)
    for message in data["messages"]:
        message.pop("tight", None)
        for block in message["content"]:
            for key in ("closed", "envelope"):
                block.pop(key, None)
            if block.get("is_error") is False:
                del block["is_error"]
    return data


TEXT = st.one_of(
    st.sampled_from(
        (
            "hi", "a\n", "\nb", "x <", "<<", "<|end|>", "<<|end|>", "<|im_end|>", "<<USER_END>>", "<|reason|>", "{}",
            '{"ok":false}', '{"a": 1}', "[1]", "NaN", "é\u2028", "\r\n", "[BOS]", "<|start_reason|>x", "<|literal|>",
            "<|endliteral|>", "|end|>", "{\"name\": \"f\", \"content\": \"1\"}",
        )
    ),
    st.text(max_size=12),
)  # fmt: skip
WORD = st.sampled_from(
    ("f", "functions.f", "python", "user", "a b", "x|y", "", "é", "browser.search", "assistant", "c1")
)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(*[st.none()] * 6, strategy)


@st.composite
def blocks(draw: st.DrawFn, role: str | None) -> list[dict[str, Any]]:
    """Content in normal form: texts side by side only where one is literal."""
    kinds = ["text", "text", "literal", "thinking", "tool_use", "tool_result", "mark", "tools"]
    content: list[dict[str, Any]] = []
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=3)):
        text = draw(TEXT)
        before = content[-1] if content else {}
        if kind in ("text", "literal"):
            if not text or (before.get("type") == "text" and kind == "text" and not before.get("literal")):
                continue
            content.append({"type": "text", "text": text} | ({"literal": True} if kind == "literal" else {}))
        elif kind == "thinking":
            kind_of = draw(_maybe(st.sampled_from(("reflect", "reason"))))
            content.append({"type": "thinking", "text": text} | ({"kind": kind_of} if kind_of else {}))
        elif kind == "tool_use":
            call: dict[str, Any] = {"type": "tool_use", "name": draw(WORD), "raw": text}
            content.append(call | _given(draw, id=WORD))
        elif kind == "tool_result":
            parts = [{"type": "text", "text": text}] if text else []
            given = _given(draw, name=WORD, tool_use_id=WORD, is_error=st.booleans(), status=st.just("late"))
            content.append({"type": "tool_result", "content": parts} | given)
        elif kind == "mark":
            content.append({"type": "mark", "token": draw(st.sampled_from(("<|fim_prefix|>", "<|end_reason|>", "x")))})
        else:
            content.append({"type": "tools", "raw": text})
    return content


RAW = st.sampled_from(("{}", '{"a": 1}', ' {"a":1}', '{"b":[1,{}],"a":"\\u00e9"}', "x", "[]", '{"a":1,"a":2}', ""))
SHAPES: dict[str, tuple[tuple[str, dict[str, Any], str], ...]] = {
    "2.x": (
        ("user", {}, "text"), ("system", {}, "text"), ("assistant", {"channel": "final"}, "text"), ("user", {}, "two"),
        ("assistant", {"channel": "commentary"}, "call"), ("tool", {"to": "assistant"}, "result"),
        ("assistant", {"channel": "analysis"}, "thought"), ("developer", {}, "none"),
    ),
    "v0.1": (
        ("user", {}, "text"), ("system", {"tight": True}, "marks"), ("assistant", {}, "thoughts"),
        ("tool", {}, "result"),
        ("assistant", {}, "calls"), ("user", {"name": "bob"}, "none"), ("system", {}, "tools"), ("tool", {}, "results"),
    ),
    "rwkv": (
        ("user", {}, "text"), ("system", {}, "none"), ("assistant", {}, "text"), ("assistant", {}, "call"),
        ("tool", {}, "result"), ("assistant", {"extra": {"x": "y z"}}, "call"),
    ),
}  # fmt: skip


@st.composite
def contents(draw: st.DrawFn, shape: str) -> list[dict[str, Any]]:
    """The content that a message of a shape has."""
    text = draw(TEXT.filter(bool))
    kind = draw(st.sampled_from(("reflect", "introspect", "reason")))
    texts = {"type": "text", "text": text}
    thought = {"type": "thinking", "text": draw(TEXT), "kind": kind}
    call = {"type": "tool_use", "name": draw(WORD), "raw": draw(RAW), **_given(draw, id=WORD)}
    answer = {"type": "tool_result", "content": [texts], **_given(draw, tool_use_id=WORD, is_error=st.booleans())}
    answer |= {"name": draw(WORD)}
    mark = {"type": "mark", "token": "<|reflect|>"}
    return {
        "none": [], "text": [texts], "two": [texts, {**texts, "literal": True}],
        "thought": [thought if draw(st.booleans()) else {"type": "thinking", "text": text}], "call": [call],
        "result": [answer], "marks": [mark, texts, mark, mark], "thoughts": [texts, thought, thought, texts, thought],
        "calls": [thought, texts, call, call, texts], "results": [answer, answer, texts],
        "tools": [texts, {"type": "tools", "raw": draw(RAW)}, mark],
    }[shape]  # fmt: skip


@st.composite
def models(draw: st.DrawFn, format: str) -> dict[str, Any]:
    """A neutral model in JSON, of the shapes that a format has and now and then of one that it has not."""
    messages = []
    for _ in range(draw(st.integers(1, 4))):
        shapes = SHAPES[format if format in SHAPES else "2.x"]
        role, attributes, shape = draw(st.sampled_from(shapes))
        strange = _given(
            draw, name=WORD, channel=st.sampled_from(("analysis", "other")), to=WORD, call_id=WORD, intent=WORD,
            content_type=WORD, constrain=st.just("text"), tight=st.booleans(), stop=st.sampled_from(("call", "return")),
            extra=st.dictionaries(st.sampled_from(("x", "to", "a b", "id")), WORD, max_size=2),
        )  # fmt: skip
        content = draw(blocks(role)) if draw(st.integers(0, 15)) == 7 else draw(contents(shape))
        messages.append({"role": role, **attributes, **(strange if draw(st.booleans()) else {}), "content": content})
    if draw(st.integers(0, 5)) == 3:
        messages[-1]["stop"] = "none"
    data: dict[str, Any] = {"messages": messages, **_given(draw, bos=st.just(True), eos=st.just(True))}
    headers = (
        {"version": format}, {"version": format, "a": [1, None, {"b": "no"}]}, {"version": "2.10", "x y": "é\u2028: #"},
        {"version": format, "null": True, "k" * 2000: 1}, {"version": "2.2", "n": 1e300, "m": "1e300", "": ""},
    )  # fmt: skip
    pending = ({"role": "assistant"}, {"role": "user", "name": "bob"}, {"role": "tool"})
    return data | _given(draw, header=st.sampled_from(headers), pending=st.sampled_from(pending))


def _given(draw: st.DrawFn, **strategies: st.SearchStrategy[Any]) -> dict[str, Any]:
    drawn = {key: draw(_maybe(strategy)) for key, strategy in strategies.items()}
    return {
        key: value
        for key, value in drawn.items()
        if value not in (None, {}, False) or (key == "is_error" and value is False)
    }
