"""Whatever a public verb is given, it answers with a result or with a named error of headish's own.

The verbs are found by looking at the classes, so a new one is tested from its first day. Each is called as a program
would call it, with one argument after the other replaced by something odd.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, cast

import pytest

import headish
from headish import Store, providers, transcripts
from headish.calls import open_call
from headish.errors import (
    DatabaseError,
    HeadishError,
    InputError,
    InvalidArgument,
    InvalidBackup,
    InvalidContent,
    InvalidHeadish,
    MissingKey,
    NotIsolated,
    TooDeep,
    UnknownBatch,
    UnknownConversation,
    UnknownErasure,
    UnknownSpace,
    UnknownStream,
    shown,
)
from headish.providers.registry import PROVIDERS
from headish.store.call_options import CallOptions
from headish.values.blocks import Other, ProviderBlock, Text, ToolResult, ToolUse
from headish.values.checks import doors
from support.insides import unchanged
from support.verbs import CALLED_BACK, CHATML, VERBS, Verb, call, open_store, somewhere

DEPTH = 2_000
"""Twice what Python goes down."""
PAST_REPR = 200_000
"""Deeper than ``repr`` goes on every Python: in 3.13, code written in C stops later."""
PORTIONS = 6
"""Into so many cases the verbs are dealt out: several processes share them."""


def deep(wrap: Callable[[Any], Any], levels: int = DEPTH) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = wrap(value)
    return value


class Mute:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no word of mine")


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "a number": lambda: 5,
    "a negative number": lambda: -1,
    "a number past 64 bits": lambda: 2**64,
    "a number too long to be shown": lambda: 10**5000,
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "a fraction": lambda: 0.5,
    "true": lambda: True,
    "bytes": lambda: b"main",
    "bytes that are no text": lambda: b"\xff\xfe",
    "no text": lambda: "",
    "a lone surrogate": lambda: "\ud800",
    "a NUL": lambda: "a\0b",
    "a long text": lambda: "x" * 5000,
    "a suffix alone": lambda: "~1",
    "an empty list": list,
    "a list of nothing": lambda: [None],
    "a list of numbers": lambda: [5, -1],
    "a list of surrogates": lambda: ["\ud800"],
    "a list of lists": lambda: [["main"]],
    "a list in itself": circle,
    "a deep list": lambda: deep(lambda value: [value]),
    "a deep record": lambda: deep(lambda value: {"a": value}),
    "a deep set of params": lambda: {"params": deep(lambda value: {"a": value})},
    "a record": lambda: {"a": 1},
    "a record of numbers": lambda: {5: 5},
    "a record of surrogates": lambda: {"\ud800": "\ud800"},
    "a record of nan": lambda: {"a": math.nan},
    "a set": lambda: {"a"},
    "a path": lambda: Path("nowhere/\ud800"),
    "an object": object,
    "an object that cannot be shown": Mute,
    "a list of such": lambda: [Mute()],
    "a function": lambda: print,
}
"""Made anew for each call, as one that takes a value apart may keep it."""

USUALLY_REFUSED: dict[str, tuple[type[HeadishError], ...]] = {
    "Store.ask_title": (headish.errors.UnknownPointer,),
    **{f"Store.{name}": (MissingKey,) for name in ("ask", "open_answer", "retry", "open_retry")},
    "Store.search": (headish.errors.InvalidArgument,),
    "Store.sign": (headish.errors.SigningFailed,),
    "Streams.drop": (UnknownStream,),
    "Batches.create": (MissingKey,),
    **{f"Batches.{name}": (UnknownBatch,) for name in ("get", "status", "collect", "drop")},
    "Conversations.find": (UnknownConversation,),
    "Store.copy_to": (UnknownSpace,),
    "headish.restore": (InvalidBackup,),
    "Database.move": (UnknownSpace,),
    "Database.distribute": (DatabaseError,),
    **dict.fromkeys(("Database.secure", "Spaces.grant", "Spaces.revoke", "Spaces.members"), (NotIsolated,)),
    "Spaces.remove": (UnknownSpace,),
    "Erasures.__getitem__": (UnknownErasure,),
}


@pytest.fixture(autouse=True)
def elsewhere() -> Iterator[None]:
    with somewhere():
        yield


def error_of(verb: Verb) -> Exception | None:
    """What a usual call raises."""
    with somewhere(), open_store() as store:
        try:
            call(store, verb, dict(verb.usual))
        except Exception as error:
            return error
    return None


def test_a_usual_call_is_taken() -> None:
    ended = {verb.name: error_of(verb) for verb in VERBS}
    expected = {verb.name: USUALLY_REFUSED.get(verb.name, (type(None),)) for verb in VERBS}
    assert {name: error for name, error in ended.items() if not isinstance(error, expected[name])} == {}


def raised_raw(verb: Verb, parameter: str) -> Iterator[str]:
    """What calls with something odd in one place raise that is no error of headish's own."""
    with open_store() as store:
        for what, make in ODD.items():
            if parameter in CALLED_BACK and what == "a function":
                continue  # what it raises is the caller's own
            try:
                call(store, verb, {**verb.usual, parameter: make()})
            except HeadishError as error:
                assert str(error)
            except Exception as error:
                yield f"{verb.name}: {parameter} = {what}: {type(error).__name__}"


@pytest.mark.parametrize("part", range(PORTIONS))
@pytest.mark.slow
def test_an_odd_argument_is_taken_or_refused_by_name(part: int) -> None:
    raw: list[str] = []
    for verb in VERBS[part::PORTIONS]:
        with somewhere():
            raw += [each for parameter in verb.takes for each in raised_raw(verb, parameter)]
    assert not raw, "\n".join(raw)


def test_a_door_knows_no_annotation_and_no_word_that_no_verb_has() -> None:
    """Else a kind would stay behind when the last parameter of its kind goes."""
    options = [each.__forward_arg__ for each in CallOptions.__annotations__.values()]
    taken = [str(each.annotation) for each in inspect.signature(open_call).parameters.values()]
    said = {each.removesuffix(" | None") for verb in VERBS for each in [*verb.annotations, *options, *taken]}
    heads = {annotation.partition("[")[0] for annotation in said if annotation.endswith("]")}
    assert set(doors.KINDS) - {"bool | None"} <= said | heads
    assert doors.GRAMMARS.keys() <= {parameter for verb in VERBS for parameter in verb.takes}


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("int", doors.COUNT),
        ("int | None", doors.COUNT),
        ("bool | None", doors.CHOICE),
        ("Collection[str] | None", doors.WORDS),
        ("Collection[int]", None),
        ("Iterable[Mapping[str, Any] | Content]", doors.LIST),
        ("Callable[[Note, dict[str, int]], None] | None", doors.CALLABLE),
        ("Iterable[str] | UnsetType", None),
        ("Iterable[str] | Mapping[str, Any]", None),
        ("str | UnsetType | None", None),
        ("datetime", None),
    ],
)
def test_an_annotation_says_the_kind_of_a_parameter(annotation: str, kind: doors.Kind | None) -> None:
    assert doors.kind_of("given", annotation) is kind


def test_a_word_with_a_grammar_of_its_own_is_checked_where_it_is_read() -> None:
    assert doors.kind_of("headish", "str") is None
    with open_store() as store, pytest.raises(InvalidHeadish):
        store.get(cast(Any, 5))


def test_what_a_verb_takes_behind_its_keywords_is_refused_before_anything_is_stored() -> None:
    with open_store() as store:
        for name, value in {"attempts": 0, "timeouts": "long", "budget": -1, "headers": {"a": 5}, "count": 5}.items():
            before = store.stats()
            with pytest.raises(InvalidArgument, match=f"^{name} is "):
                store.ask("hello", to="openai", model="gpt-5", **cast(Any, {name: value}))
            assert store.stats() == before


class Word(str, Enum):  # noqa: UP042, a StrEnum writes itself as its text
    """As programs list roles and providers. ``str`` makes ``Word.ASSISTANT`` of a member, which equals its text."""

    ASSISTANT = "assistant"
    OPENAI = "openai"


def test_a_member_of_an_enum_of_texts_is_the_text_that_it_equals(store: Store) -> None:
    message = headish.Message(role=Word.ASSISTANT, content=(Text("recorded"),))
    said = [
        store.add_turn("added", role=Word.ASSISTANT, bookmark="main"),
        *store.add_turns([{"content": "among others", "role": Word.ASSISTANT}]),
        store.record([{"role": Word.ASSISTANT, "content": "a list"}]).tip,
        store.record([message]).tip,
    ]
    read = [store.get(turn.id) for turn in said]
    assert [(str(turn.meta.role), turn.digest) for turn in said] == [("assistant", turn.digest) for turn in read]
    assert [turn.meta.role for turn in read] == ["assistant"] * 4
    assert store.verify().problems == ()
    assert store.request("main", Word.OPENAI, model="m").body == store.request("main", "openai", model="m").body


@pytest.mark.parametrize("target", [*PROVIDERS, "2.2", "v0.1", "rwkv"])
def test_a_window_of_such_roles_goes_out_as_one_of_texts(target: str) -> None:
    def sent(role: str) -> Any:
        said = (Text("hello"), ToolUse("look", "c1", {"a": 1}))
        asked = headish.Message(role="user", content=(Text("hello?"),))
        window = headish.ContextWindow((asked, headish.Message(role=role, content=said)), {})
        out = headish.emit(window, target, **({"model": "m"} if target in PROVIDERS else {}))
        return getattr(out, "body", out)

    assert json.dumps(sent(Word.ASSISTANT)) == json.dumps(sent("assistant"))


@pytest.mark.parametrize("format", ["2.0", "2.2"])
def test_a_format_from_an_enum_is_the_text_that_it_equals(store: Store, format: str) -> None:
    member = Enum("Formats", {"ONE": format}, type=str)["ONE"]
    store.add_turn("hello", bookmark="main")
    window = store.resolve("main")
    assert store.export("main", member) == store.export("main", format)
    assert headish.emit(window, member) == headish.emit(window, format)


@pytest.mark.parametrize("flag", ["respond", "force", "moves", "json", "cache"])
@pytest.mark.parametrize("value", [0, 1, 2, "no", 1.0])
def test_a_flag_of_a_turn_is_a_flag(store: Store, flag: str, value: Any) -> None:
    with unchanged(store), pytest.raises(InvalidArgument, match=rf"{flag} (is True or False|takes true, false)"):
        store.add_turn("text", bookmark="flagged", **{flag: value})


@pytest.mark.parametrize("target", ["openai", "2.2", "chat", "rwkv"])
@pytest.mark.parametrize("content", ["hello", ["hello"], None, 5, ({"type": "text", "text": "hello"},)])
def test_a_message_of_a_window_holds_blocks(target: str, content: Any) -> None:
    settings = {"model": "m"} if target in PROVIDERS else {}
    for message in (headish.Message(role="user", content=content), content):
        with pytest.raises(InvalidArgument, match=r"blocks|class Message"):
            headish.emit(headish.ContextWindow((message,), {}), target, **settings)
    for window in (headish.ContextWindow(content, {}), headish.ContextWindow((), cast(Any, "none"))):
        with pytest.raises(InvalidArgument, match=r"a tuple of messages, and a mapping|class Message"):
            headish.emit(window, target, **settings)


@pytest.mark.parametrize("extra", [[1], "ab", 5, [("a", 1)]])
def test_what_a_block_keeps_besides_is_an_object(store: Store, extra: Any) -> None:
    for block in (Text("a", extra=extra), Other("odd", extra), ToolResult("c", None, cast(Any, None))):
        with unchanged(store), pytest.raises(InvalidContent, match=r"it must be an object|it must be a list of blocks"):
            store.add_turn([block])


@pytest.mark.parametrize("limit", [-1, math.nan, 2**64, "3", True, 1.0])
def test_a_limit_of_the_log_is_a_count(limit: Any) -> None:
    with open_store() as store, pytest.raises(InvalidArgument, match="limit is a number from 0 on"):
        store.log(limit=limit)


def test_a_value_of_the_wrong_type_is_an_input_error_and_no_type_error() -> None:
    with open_store() as store:
        calls: list[Callable[[], Any]] = [
            lambda: store.resolve(cast(Any, 5)),
            lambda: store.add_turns(cast(Any, 5)),
            lambda: Store.open(cast(Any, 5)),
            lambda: store.import_file(cast(Any, None)),
            lambda: store.add_document("\ud800"),
            lambda: store.pointers["\ud800"],
        ]
        for each in calls:
            with pytest.raises(InputError) as refused:
                each()
            assert not isinstance(refused.value, TypeError)


def test_a_file_that_is_open_for_text_is_refused_by_name(store: Store, tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text(CHATML, encoding="utf-8")
    with (tmp_path / "chat.txt").open(encoding="utf-8") as file:
        for text in (file, io.StringIO(CHATML)):
            with pytest.raises(InvalidArgument, match=r'^source is a path, or a file .* \(mode "rb"\), not <'):
                store.import_file(cast(Any, text))
    with (tmp_path / "chat.txt").open("rb") as data:
        assert store.import_file(data).added == 1


@pytest.mark.parametrize(
    "odd", [{1}, b"x", Decimal("1.10"), datetime(2026, 1, 2), Word.OPENAI, object()], ids=lambda odd: type(odd).__name__
)
def test_what_is_not_json_is_refused_in_a_block_as_in_a_mapping(odd: Any) -> None:
    call = {"type": "tool_use", "name": "look", "input": {"a": odd}}
    result = ToolResult("c1", content=(Text("hello", opaque={"openai": {"a": odd}}),))
    with Store.open(":memory:") as store:
        for content in (call, ToolUse("look", input={"a": odd}), ProviderBlock("openai", {"a": odd}), result):
            with pytest.raises(InvalidContent, match=f"a {type(odd).__name__} is not a JSON value"):
                store.add_turn([content])
        assert store.stats().turns == 0


def test_an_error_shows_a_value_in_short() -> None:
    assert shown("x" * 5000) == "'" + "x" * 198 + "…"
    assert shown(Mute()) == "a Mute that cannot be shown"
    assert shown(deep(lambda value: [value], PAST_REPR)) == "a list that cannot be shown"


def test_refusing_what_lies_too_deep_stores_nothing() -> None:
    with open_store() as store:
        before = store.stats().turns
        with pytest.raises(TooDeep):
            store.add_turn("hello", inherited={"params": deep(lambda value: {"a": value})})
        assert store.stats().turns == before


@pytest.mark.parametrize(
    "take",
    [
        transcripts.TranscriptStream,
        lambda value: transcripts.TranscriptStream("v0.1").feed(value),
        lambda value: transcripts.TranscriptStream().feed(value),
        providers.Stream,
        lambda value: providers.Stream("openai").feed(value),
    ],
    ids=["a format", "a chunk of a format", "a chunk of any format", "a provider", "an event"],
)
def test_a_stream_takes_what_is_odd_or_refuses_it_by_name(take: Callable[[Any], Any]) -> None:
    for make in ODD.values():
        with contextlib.suppress(HeadishError):
            take(make())
