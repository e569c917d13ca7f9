"""A text of a caller's own class, as a member of a ``StrEnum``, is the text that it equals: as a name, a word or a
field. What is said is JSON, and there it is refused by name, as each other value that JSON does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

import pytest

from headish import Store
from headish.errors import HeadishError, InvalidContent
from headish.values.blocks import Text
from support.insides import unchanged
from support.verbs import DEFAULTS, VERBS, Verb, call, open_store, somewhere


class Loud(str):
    """A text that writes itself as another one."""

    def __str__(self) -> str:
        return "another text"


def as_member(text: str) -> Any:
    return Enum("Words", {"ONE": text}, type=str)["ONE"]


KINDS: list[Callable[[str], Any]] = [Loud, as_member]
SAID = frozenset(("content", "items"))
"""The parameters for what is said. Texts inside mappings are JSON, too."""
FITTING: dict[str, Any] = {
    "api_version": "2024-10-21", "apps": ["nobody"], "as_user": "system", "author": "ann", "base_url": "http://127.0.0.1:9",
    "by": "model", "cloud": "vertex", "content_type": "text/plain", "dialect": "vllm", "drop": ["call_id"],
    "durability": "full", "fields": ["text"], "form": "chat", "format": "2.2", "grep": "hello", "headishes": ["main"],
    "isolation": "required", "key_env": "HEADISH_TEST_NO_SUCH_KEY", "kinds": ["turn"], "last": "main",
    "model": "gpt-5", "names": "main", "order": "newest", "policy": "ocm", "prefix": "ma", "profile": "default",
    "project": "own", "provider_ptr": "milli", "ptr": "milli", "region": "eu", "resource": "own", "role": "user",
    "scope": "thread", "servers": ["files"], "since": "2020-01-01", "start_role": "user", "system": "Be brief.",
    "tag": "work", "tags": ["work"], "title": "A title", "to": "openai", "tool": "read", "tool_mode": "auto",
    "cache": "5m", "until": "2020-01-01", "verify": "quick", "viewer": "people",
}  # fmt: skip
"""A text that fits each parameter, or a list of texts."""
BESIDE: dict[str, dict[str, Any]] = {
    **{each: {"target": "gemini/gemini-2.5-pro", "cloud": "vertex", "region": "eu", "project": "own"}
       for each in ("cloud", "region", "project")},
    "dialect": {"target": "openai/gpt-5"},
}  # fmt: skip
"""What a pointer needs beside a setting of it."""


def texts_of(verb: Verb) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parameters of a verb that take text, each with the arguments of a call that gives it."""
    for parameter in verb.takes:
        given = verb.usual.get(parameter, FITTING.get(parameter, DEFAULTS.get(parameter)))
        if isinstance(given, str) or (
            given and isinstance(given, list) and all(isinstance(each, str) for each in given)
        ):
            beside = BESIDE.get(parameter, {}) if verb.name == "Pointers.set" else {}
            yield parameter, {**verb.usual, **beside, parameter: given}


def ended(verb: Verb, arguments: dict[str, Any]) -> str:
    """How a call ends: ``taken``, or the class of its error."""
    with somewhere(), open_store() as store:
        try:
            call(store, verb, arguments)
        except HeadishError as error:
            return type(error).__name__
        except Exception as error:
            return f"raw {type(error).__name__}"
    return "taken"


def of_class(kind: Callable[[str], Any], given: str | list[str]) -> Any:
    return kind(given) if isinstance(given, str) else [kind(each) for each in given]


def differing(parameters: Callable[[str], bool], expected: Callable[[str], str]) -> Iterable[str]:
    """The calls that end in another way than expected of one that ends so with plain text."""
    for verb in VERBS:
        for parameter, arguments in texts_of(verb):
            if not parameters(parameter) or (verb.name, parameter) == ("Store.erase", "content"):  # a flag there
                continue
            usual = ended(verb, dict(arguments))
            for kind in KINDS:
                end = ended(verb, {**arguments, parameter: of_class(kind, arguments[parameter])})
                if end != expected(usual):
                    yield f"{verb.name}: {parameter}: {usual}, and as {kind.__name__}: {end}"


@pytest.mark.slow
def test_a_verb_takes_it_where_it_takes_the_text_that_it_equals() -> None:
    assert list(differing(lambda parameter: parameter not in SAID, lambda usual: usual)) == []


def test_a_verb_refuses_it_as_something_said() -> None:
    assert list(differing(SAID.__contains__, lambda _: InvalidContent.__name__)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_stored_as_that_text(store: Store, kind: Callable[[str], Any]) -> None:
    turn = store.add_turn("hello", bookmark="main", provider_ptr=kind("milli"), servers=[kind("files")])
    store.pointers.set(kind("milli"), kind("openai/gpt-5"), key_env=kind("SOME_KEY"))
    store.pointers.set_default(kind("milli"))
    record = store.conversations.set(kind("main"), title=kind("A title"), tags=[kind("work")], key=kind("key")).record
    assert record is not None
    assert (record.title, record.tags, record.key) == ("A title", ("work",), "key")
    assert {type(each) for each in (record.title, *record.tags, record.key)} == {str}
    assert store.conversations.get("main").record == record
    assert store.resolve("main").options == {"provider_ptr": "milli", "servers": ["files"]}
    assert (store.pointers.default, store.pointers["milli"].key_env) == ("milli", "SOME_KEY")
    store.tools.set(kind("files"), [{"name": "read", "inputSchema": {"type": "object"}}])
    assert type(store.request("main", "openai", model=kind("gpt-5")).body["model"]) is str
    assert store.get(turn.id) == store.get(kind(turn.id))
    assert store.verify().problems == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_headish_is_remembered_as_that_text(store: Store, kind: Callable[[str], Any]) -> None:
    """What was parsed is remembered by its text, which equals that of any other class."""
    name = f"main-{kind.__name__}"
    store.add_turn("hello", bookmark=name)
    asked = [store.request(headish, "openai", model="m").bookmark for headish in ([kind(name)], name)]
    assert [type(each) for each in asked] == [str, str]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_no_json_inside_what_is_said(store: Store, kind: Callable[[str], Any]) -> None:
    store.add_turn("hello", bookmark="main")
    for content in (kind("words"), [kind("words")], {"type": "text", "text": kind("words")}, [Text(kind("words"))]):
        for say in (store.add_turn, lambda said: store.edit("main", said), lambda said: store.replace("main", said)):
            with (
                unchanged(store),
                pytest.raises(InvalidContent, match="is not a JSON value"),
            ):
                say(content)
