"""Blocks where nobody puts them: a request and a form carry them, or refuse them by name, and lose none in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from headish import Store
from headish.errors import HeadishError, Unrepresentable

PROVIDERS = ("anthropic", "openai", "openai_responses", "gemini", "cohere", "cerebras")
FORMS = ("chat", "responses", "anthropic", "gemini", "cohere")
CALL = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
INNER: dict[str, dict[str, Any]] = {
    "a result": {"type": "tool_result", "tool_use_id": "b", "content": "deep"},
    "a call": {"type": "tool_use", "id": "z", "name": "dig", "input": {}},
}


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        yield opened


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("call", ["a", "nobody's"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_stands_inside_a_result_and_is_none_of_its_content_is_in_no_request(
    store: Store, provider: str, call: str, inner: str
) -> None:
    store.add_turn([CALL], role="assistant", bookmark="main")
    result = {"type": "tool_result", "tool_use_id": call, "content": [INNER[inner]]}
    store.add_turn([result], role="user", continues="main")
    with pytest.raises(Unrepresentable, match=r"inside a tool result|a tool call of role user"):
        store.request("main", to=provider, model="m")


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("form", ["cohere", "responses"])
def test_a_form_without_a_place_for_it_refuses_it(store: Store, form: str, inner: str) -> None:
    store.add_turn([{"type": "tool_result", "tool_use_id": "a", "content": [INNER[inner]]}], role="tool", bookmark="m")
    with pytest.raises(Unrepresentable, match="inside a tool result"):
        store.messages("m", form=form)


@pytest.mark.parametrize("data", [None, "text", ["list"]])
@pytest.mark.parametrize(
    ("form", "provider"), [("cohere", "cohere"), ("responses", "openai_responses"), ("anthropic", "anthropic")]
)
@pytest.mark.parametrize("nested", [True, False])
def test_a_block_of_the_provider_s_own_that_is_no_object_is_refused(
    store: Store, form: str, provider: str, data: object, nested: bool
) -> None:
    own = {"type": "provider", "provider": provider, "data": data}
    content = [{"type": "tool_result", "tool_use_id": "a", "content": [own]}] if nested else [own]
    store.add_turn(content, role="tool" if nested else "assistant", bookmark="m")
    with pytest.raises(Unrepresentable, match="that is not an object"):
        store.messages("m", form=form)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_thread_holds_every_verb_answers_or_refuses_by_name(store: Store, seed: int) -> None:
    random = Random(seed)
    for number in range(4):
        with suppress(HeadishError):
            content = [_block(random) for _ in range(random.randrange(1, 4))]
            store.add_turn(content, role=random.choice(ROLES), bookmark="main" if not number else None,
                           continues="main" if number else None)  # fmt: skip
    for verb in _verbs(store):
        with suppress(HeadishError):
            verb()
    assert store.verify().problems == ()


ROLES = ("user", "assistant", "tool", "system", "developer")
WORDS = ("", "x", "\0", "a\u202eb", "<|start|>", "```", "é" * 300, "1e400", "{", "http://[", "../x")
TYPES = ("text/plain", "image/png", "application/pdf", "audio/wav", "text/html;charset=latin1", "", "x/y")


def _verbs(store: Store) -> Iterator[Callable[[], object]]:
    for to in PROVIDERS:
        yield lambda to=to: store.request("main", to=to, model="m")
        yield lambda to=to: store.lint("main", to=to, model="m")
    for form in FORMS:
        yield lambda form=form: store.messages("main", form=form)
    for to in ("2.2", "2.0", "v0.1", "harmony", "rwkv", "chat", "cohere", "sharegpt", "hf", "openai-finetune"):
        yield lambda to=to: store.export("main", to)
    for to in ("html", "markdown", "text"):
        yield lambda to=to: store.render("main", to)
    yield from (
        lambda: store.resolve("main", budget=30), lambda: store.search("x"), lambda: store.log("main", grep="x"),
        lambda: store.conversations.list(), lambda: store.tree("main"), store.verify,
        lambda: store.edit("main~1", "new", keep=True), lambda: store.diff("main@{1}", "main"),
        lambda: store.compact("main", to=0.5),
    )  # fmt: skip


def _block(random: Random, depth: int = 0) -> dict[str, Any]:
    word = random.choice(WORDS)
    blocks: list[Callable[[], dict[str, Any]]] = [
        lambda: {"type": "text", "text": word, "citations": _value(random)},
        lambda: {"type": "thinking", "text": word, "provider": random.choice((*PROVIDERS, "x"))},
        lambda: {"type": "document", "source": _source(random), "name": word},
        lambda: {"type": "tool_use", "id": random.choice("ab"), "name": word, "input": _value(random)},
        lambda: {"type": "tool_use", "name": "x", "raw": word},
        lambda: {"type": "provider", "provider": random.choice(PROVIDERS), "data": _value(random)},
        lambda: {"type": random.choice(("mark", "tools", "image_url", "odd")), "text": word, "a": _value(random)},
    ]
    if depth < 2:
        content = [_block(random, depth + 1)]
        blocks.append(lambda: {"type": "tool_result", "tool_use_id": random.choice("ab"), "content": content})
    return random.choice(blocks)()


def _source(random: Random) -> dict[str, Any]:
    kind = random.choice(TYPES)
    return random.choice([
        {"type": "base64", "media_type": kind, "data": random.choice(("aGk=", "/w==", "", "!!!", "iVBORw0KGgo="))},
        {"type": "url", "media_type": kind, "url": random.choice(("https://x/y.png", "file:///etc/passwd", "http://["))},
        {"type": "file", "id": "f", "provider": random.choice(PROVIDERS)},
    ])  # fmt: skip


def _value(random: Random, depth: int = 0) -> Any:
    plain = [None, True, 2**63, 1.5, random.choice(WORDS)]
    if depth > 2:
        return random.choice(plain)
    return random.choice([*plain, [_value(random, depth + 1)], {random.choice(WORDS): _value(random, depth + 1)}])
