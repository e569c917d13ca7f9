"""Items of the Agents SDK come back as they were, their keys in order, and are stored once, as blocks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headish import Store
from headish.adapters.sessions import add, session_of
from headish.rows.threads.ranges import SpokenTurn
from support.frameworks import needs
from support.later import Later

pytestmark = needs("agents", "openai-agents")
items = Later("headish.integrations.agents.items")
loading = Later("headish.integrations.agents.loading")
rows = Later("headish.integrations.agents.rows")

ANSWER = {
    "id": "msg_1",
    "content": [{"annotations": [], "text": "Paris.", "type": "output_text", "logprobs": []}],
    "role": "assistant",
    "status": "completed",
    "type": "message",
}
CALL = {
    "arguments": '{"a": 1}',
    "call_id": "c1",
    "name": "add",
    "type": "function_call",
    "id": "fc_1",
    "status": "completed",
}
REASONING = {
    "id": "rs_1",
    "summary": [{"text": "Think.", "type": "summary_text"}],
    "type": "reasoning",
    "encrypted_content": "gAAA",
    "content": None,
}
ITEMS: dict[str, Any] = {
    "plain": {"role": "user", "content": "Capital?"},
    "keys turned round": {"content": "Capital?", "role": "user"},
    "answer": ANSWER,
    "call": CALL,
    "reasoning": REASONING,
    "result": {"call_id": "c1", "output": "3", "type": "function_call_output"},
    "result of parts": {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_text", "text": "3"}],
    },
    "picture": {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is it?"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "low"},
        ],
    },
    "refusal": {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "type": "message"},
    "compaction": {"type": "compaction", "encrypted_content": "x", "id": "cmp_1"},
    "unknown type": {"type": "from_the_future", "x": [1, 2.0, None, True], "y": {"b": 1, "a": {}}},
    "unknown keys": {**ANSWER, "phase": "final", "z": {"b": 1, "a": 2}},
    "no type": {"foo": 1},
    "nothing": {},
    "null content": {"role": "user", "content": None},
    "odd role": {"role": "tool", "content": "x", "tool_call_id": "t"},
    "no number": {"role": "user", "content": float("nan")},
    "large number": {"type": "x", "n": 2**70, "f": 1e300},
    "looks like a key": {"type": "x", "sk-ant-api03-" + "a" * 90: "sk-ant-api03-" + "a" * 90},
}


def said_of(draft: Any) -> SpokenTurn:
    return SpokenTurn(
        0, "0" * 25, draft.said.role, None, draft.said.attributes, draft.system, draft.app, b"", None, draft.payload
    )  # type: ignore[arg-type]


def back(item: Any) -> list[Any]:
    return loading.items_of_turn(said_of(items.make_draft(item, 10**8).draft))


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_an_item_comes_back_with_its_keys_in_order(item: Any) -> None:
    assert [json.dumps(each) for each in back(item)] == [json.dumps(item)]


def test_many_turns_at_once_give_what_each_gives_alone() -> None:
    healed = {"role": "user", "content": "half \ud800"}
    turns = [said_of(items.make_draft(item, 10**8).draft) for item in [*ITEMS.values(), healed] * 9]
    turns += [replace_app(turns[0], app) for app in (b'{"other":1}', b'{"agents":{"shape":"none"}}', b'{"agents":{}}')]
    alone = [loading.items_of_turn(each) for each in turns]
    together = rows.items_of_plain(turns)
    assert [json.dumps([made]) for made in together if made is not None] == [
        json.dumps(each) for each, made in zip(alone, together, strict=True) if made is not None
    ]
    assert sum(made is not None for made in together) >= 9 * len(["plain", "answer", "call", "result"])


@pytest.mark.parametrize("app", [b"", b"null,null", b'{"agents":{"shape":1}}', b'{"agents":[]}', b"\xff"])
def test_a_damaged_turn_is_no_items_of_others(app: bytes) -> None:
    plain = said_of(items.make_draft(ITEMS["plain"], 10**8).draft)
    assert rows.items_of_plain([plain, replace_app(plain, app), plain]) == [ITEMS["plain"], None, ITEMS["plain"]]
    broken = replace(plain, payload=b'[{"type":"text","text":"a"}],[{"type":"text","text":"b"}]')
    assert rows.items_of_plain([broken, plain]) == [None, ITEMS["plain"]]


def replace_app(said: SpokenTurn, app: bytes) -> SpokenTurn:
    return replace(said, app=app)


def test_an_item_of_very_deep_nesting_comes_back() -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"a": [deep]}
    assert back({"type": "x", "deep": deep}) == [{"type": "x", "deep": deep}]


@pytest.mark.parametrize("item", [ANSWER, CALL, ITEMS["result"]], ids=["answer", "call", "result"])
def test_an_item_is_stored_once(item: Any) -> None:
    draft = items.make_draft(item, 10**8).draft
    told = json.dumps(item.get("arguments") or item.get("output") or item["content"][0]["text"])[1:-1].encode()
    stored = b"".join(filter(None, (draft.payload, draft.system, draft.app)))
    assert stored.count(told) == 1
    assert told in draft.payload


def test_an_item_is_readable_as_any_other_turn(store: Store) -> None:
    made = [items.make_draft(item, 10**8).draft for item in (ITEMS["plain"], REASONING, CALL, ITEMS["result"], ANSWER)]
    add(store, session_of("main"), made)
    assert [turn.meta.role for turn in store.log("main")] == ["assistant", "tool", "assistant", "assistant", "user"]
    assert store.text("main") == "Paris."
    assert [message["role"] for message in store.request("main", "anthropic").body["messages"]] == [
        "user", "assistant", "user", "assistant"
    ]  # fmt: skip


def test_halves_of_characters_are_replaced_and_noted() -> None:
    made = items.make_draft({"role": "user", "content": "half \ud800", "\udfff": 1}, 10**8)
    assert back({"role": "user", "content": "half \ud800"}) == [{"role": "user", "content": "half \ufffd"}]
    assert b"lone surrogates were replaced" in made.draft.app


def test_what_is_no_json_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        items.make_draft({"role": "user", "content": object()}, 10**8)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)
_KEYS = [
    "type",
    "role",
    "content",
    "id",
    "status",
    "call_id",
    "arguments",
    "name",
    "output",
    "summary",
    "text",
    "phase",
]
_KINDS = [
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "user",
    "assistant",
    "completed",
    "output_text",
]


@given(st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_KINDS) | _JSON, max_size=6))
def test_whatever_is_an_object_comes_back(item: dict[str, Any]) -> None:
    assert [json.dumps(each) for each in back(item)] == [json.dumps(item)]


@given(
    st.permutations(list(ANSWER)), st.permutations(list(ANSWER["content"][0])), st.text(st.characters(codec="utf-8"))
)
def test_an_answer_comes_back_in_any_order(keys: list[str], inner: list[str], text: str) -> None:
    part = {**ANSWER["content"][0], "text": text}  # type: ignore[index]
    item = {key: [{each: part[each] for each in inner}] if key == "content" else ANSWER[key] for key in keys}
    assert [json.dumps(each) for each in back(item)] == [json.dumps(item)]
