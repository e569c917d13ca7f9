"""The key of a call is in no byte of the database, nor in what is printed, wherever the server echoes it.

The model's own words are the exception: they are kept as they came.
"""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headish import Store
from headish.calls.redaction import HIDDEN, Redactor
from headish.errors import HeadishError
from headish.providers import PROVIDERS
from headish.providers.registry import find_provider
from headish.values.blocks import Text
from support.insides import dump
from support.loopback import EVENT_STREAM, Loopback, event_stream
from support.providers.replies import CASES, read_lines

pytestmark = pytest.mark.slow

SECRET = "sk-very/secret+key-of-the-test="
SPELLINGS = {
    "as it is": SECRET,
    "in a URL": quote(SECRET, safe=""),
    "in base64": b64encode(SECRET.encode()).decode(),
    "in base64, behind a user": b64encode(b"me:" + SECRET.encode()).decode(),
    "in base64, behind another": b64encode(b"them:" + SECRET.encode()).decode(),
}
KEPT_KEYS = {"type", "object", "role", "text", "thinking", "content", "delta", "reasoning", "refusal", "tool_plan",
             "reasoning_content", "finish_reason", "stop_reason", "finishReason", "status"}  # fmt: skip
"""Keys whose values decide how an event is read, or are the model's own words."""
CASE = {"gemini": "search", "openai_responses": "search", "anthropic": "search"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)


def echoed(value: Any, echo: str, under: str = "") -> Any:
    """An event that says the key in every text, under a key of its own, and as the name of one."""
    if isinstance(value, dict):
        return {key: echoed(each, echo, key) for key, each in value.items()} | {f"x-{echo}": {"y": [echo]}}
    if isinstance(value, list):
        return [echoed(each, echo, under) for each in value]
    return f"{value} {echo}" if isinstance(value, str) and under not in KEPT_KEYS else value


def errors(echo: str) -> list[dict[str, Any]]:
    """An event that nobody knows, and errors in the ways that servers write them."""
    return [
        {"type": f"odd.{echo}", "message": f"nope {echo}", "text": echo, "delta": {"text": echo}},
        {"type": "error", "error": {"type": f"auth {echo}", "message": f"nope {echo}"}, "message": f"nope {echo}"},
        {"error": {"type": echo, "code": echo, "message": f"nope {echo}"}},
    ]


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def assert_absent(data: bytes | str) -> None:
    said = data if isinstance(data, bytes) else data.encode()
    for spelling in (SECRET, quote(SECRET, safe=""), b64encode(SECRET.encode()).decode()[:-4]):
        assert spelling.encode() not in said
    for user in (b"me:", b"them:"):
        assert b64encode(user + SECRET.encode())[8:-4] not in said


@pytest.fixture
def opened(tmp_path: Path, server: Loopback) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as store:
        for provider in PROVIDERS:
            store.pointers.set(provider, f"{provider}/m", base_url=server.url, key_env="TEST_KEY")
        yield store


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_byte_of_an_echoed_key_is_stored_or_shown(
    opened: Store,
    server: Loopback,
    tmp_path: Path,
    provider: str,
    spelling: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headish.store.answers.journal.FLUSH_SECONDS", 0.01)
    caplog.set_level(logging.INFO, "headish")
    echo = SPELLINGS[spelling]
    events = read_lines(CASES / provider / CASE.get(provider, "text") / "events.jsonl")
    odd, *failures = errors(echo)
    spoken = [echoed(event, echo) for event in events]
    for place, sent in enumerate([[*spoken[:-1], odd, spoken[-1]], [*spoken[:2], failures[0]], [failures[1]]]):
        server.answer(headers={**EVENT_STREAM, "x-request-id": echo}, chunks=event_stream(sent))
        said = opened.say(f"Hi {place}", bookmark=f"b{place}", ptr=provider)
        shown: list[str] = []
        with opened.open_answer(*said, attempts=1) as answer:
            shown += [repr(delta) for delta in answer]
            assert_absent(repr(dump(opened)))
        turn = answer.finish()
        assert HIDDEN in json.dumps(turn.meta.reply)
        for each in (repr(turn), repr(shown), repr(answer.failure), str(answer.failure)):
            assert_absent(each)
    assert opened.verify().problems == ()
    opened.close()
    assert_absent(bytes_of(tmp_path))
    printed = capfd.readouterr()
    assert_absent(printed.out + printed.err + caplog.text)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("whole", [True, False], ids=["a whole response", "a body of events"])
def test_an_error_with_status_200_shows_no_key(opened: Store, server: Loopback, provider: str, whole: bool) -> None:
    error = {"error": {"message": f"nope {SECRET}"}, "message": f"nope {SECRET}", "type": "error"}
    if whole:
        server.answer_json(error)
    else:
        server.answer(chunks=event_stream([error]))
    turn = opened.ask("Hi", ptr=provider, attempts=1)
    assert turn.meta.reply["error"]["message"] == f"nope {HIDDEN}"
    assert_absent(repr(dump(opened)))


def test_an_exception_shows_no_key_wherever_the_server_says_it(opened: Store, server: Loopback) -> None:
    for status in (200, 400, 302):
        headers = {"content-type": f"text/{SECRET}", "location": f"http://x.example/{SECRET}"}
        server.answer(status, headers, [SECRET.encode()])
        with pytest.raises(HeadishError) as caught:
            opened.ask("Hi", ptr="openai", attempts=1)
        assert_absent(str(caught.value) + repr(caught.value) + repr(vars(caught.value)))
        assert "***" in str(caught.value)
    server.answer_raw([f"HTTP/1.1 200 {SECRET}\r\nx: {SECRET}\r\n{SECRET} {SECRET}\r\n\r\n".encode()])
    with pytest.raises(HeadishError) as caught:
        opened.ask("Hi", ptr="openai", attempts=1)
    assert_absent(str(caught.value) + repr(caught.value))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_words_of_the_model_stay_as_they_came(opened: Store, server: Loopback, provider: str) -> None:
    """Where the model says the key itself, whole and in pieces, its text is not changed."""
    words = f"You said {SECRET}."
    events = read_lines(CASES / provider / "text" / "events.jsonl")
    written = [json.dumps(event) for event in events]
    said = next(block.text for block in reply_of(provider, events) if isinstance(block, Text))
    pieces = [each for each in sorted(pieces_of(provider, events), key=len, reverse=True) if each in said]
    # Whole texts as well: the last event of some streams says all of it again.
    changed = [
        json.loads(each.replace(json.dumps(said), json.dumps(words)).replace(json.dumps(pieces[0]), json.dumps(words)))
        for each in written
    ]
    expected = [block.text for block in reply_of(provider, changed) if isinstance(block, Text)]
    assert words in "".join(expected)
    server.answer(chunks=event_stream(changed))
    turn = opened.ask("Hi", ptr=provider, attempts=1)
    content = opened.resolve(turn.id).messages[-1].content
    assert [block.text for block in content if isinstance(block, Text)] == expected


def reply_of(provider: str, events: list[Any]) -> tuple[Any, ...]:
    from headish.providers import Stream

    stream = Stream(provider)
    for event in events:
        stream.feed(event)
    return stream.finish().content


def pieces_of(provider: str, events: list[Any]) -> list[str]:
    from headish.providers import Stream

    stream = Stream(provider)
    return [delta.content for event in events for delta in stream.feed(event) if delta.type == "text"]


def test_a_placeholder_for_a_key_leaves_events_as_they_are() -> None:
    """A local server is often given ``ollama`` for a key, which stands in its answers as a word."""
    event = {"type": "text", "model": "ollama/small", "message": "none"}
    for placeholder in ("none", "ollama", "text", "EMPTY", ""):
        assert Redactor([placeholder]).clean(event) is event


def test_every_place_of_words_is_redacted_under_another_type() -> None:
    """The model speaks in events of a known type alone: any other may be an echo."""
    for provider in PROVIDERS:
        for place in find_provider(provider).reader.words:
            if place.event is None:
                continue
            event: Any = SECRET
            for key in reversed(place.path):
                event = [event] if key == "*" else {key: event}
            cleaned = Redactor([SECRET]).clean({**event, "type": "another"}, find_provider(provider).reader.words)
            assert_absent(json.dumps(cleaned))
