"""Keys are found however a stream is cut, and nothing else is changed or kept back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.gateway.passing.headers import pairs_of
from headish.gateway.passing.proxy import find_proxy
from headish.gateway.recording.bodies import RecordedBody
from headish.gateway.recording.redacting import KeyFilter
from headish.values.checks.addresses import parse_address

KEY = 'zz"y-secret\\0123'


def filtered(parts: list[bytes], secrets: list[str]) -> bytes:
    keys = KeyFilter(secrets)
    return b"".join([keys.feed(part) for part in parts] + [keys.finish()])


@given(st.lists(st.sampled_from([KEY, "zz", KEY[:5], "z", " other ", KEY.replace("\\", "\\\\")])), st.data())
def test_a_key_is_found_wherever_the_stream_is_cut(words: list[str], data: st.DataObject) -> None:
    whole = "".join(words).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    parts = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    once = filtered([whole], [KEY])
    assert KEY.encode() not in once
    assert filtered(parts, [KEY]) == filtered([whole[at : at + 1] for at in range(len(whole))], [KEY]) == once


def test_what_only_begins_like_a_key_is_there_at_the_end() -> None:
    for size in range(1, len(KEY)):
        body = RecordedBody([KEY], "text/event-stream", "")
        said = b"said " + KEY[:size].encode()
        assert b"".join([*body.feed(said), *body.finish()]) == said


def test_short_placeholders_stay() -> None:
    assert filtered([b"none of it"], ["none", "ollama"]) == b"none of it"


def test_the_proxy_of_the_environment_is_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    found = {
        url: find_proxy(parse_address(url))
        for url in ("https://api.openai.com", "https://inside.example", "http://127.0.0.1:11434", "http://localhost:1")
    }
    assert list(found.values()) == ["http://proxy.example:3128", None, None, None]
    monkeypatch.setenv("https_proxy", "socks5://proxy.example:1080")
    assert find_proxy(parse_address("https://api.openai.com")) is None


def test_a_header_that_is_no_text_is_left_out_alone() -> None:
    assert pairs_of([(b"A", b"1"), (b"b", b"\xff"), (b"\xff", b"2"), (b"C", b"3")]) == [("A", "1"), ("C", "3")]
