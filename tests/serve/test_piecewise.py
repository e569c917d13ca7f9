"""What looks like a key is hidden however a text was cut, no piece shows a part of it, and nothing else is lost."""

from __future__ import annotations

import json
from base64 import b64encode, encodebytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headish.content.secrecy.hiding import hide_shapes
from headish.gateway.spool.arriving import ArrivingPiece
from headish.serve.recorder.parts import HiddenParts, unescaped
from headish.serve.recorder.piecewise import HELD_CHARACTERS, ShapeFilter

KEYS = (
    "sk-ant-api03-abcdefghijklmnop0123456789",
    "xai-abcdefghijklmnop0123",
    "gsk_abcdefghijklmnop0123",
    "ghp_abcdefghijklmnopqrst0123",
    "github_pat_abcdefghijklmnopqrst0123",
    "AIzaabcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAABCDEFGHIJKLMNOP",
    "hdsh_" + "a1" * 24 + "b",
    "AGE-SECRET-KEY-1" + "Q" * 58,
    "Bearer abcdefghijklmnop0123",
    "Bearer   abcdefghijklmnopqrst\nuvw0 ",
    "postgresql://me:hunter2§ü@host/base",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE owIB\nAAKC\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIE never ends",
    "Basic bWU6aHVudGVyMg==",
    b64encode(b'{"n": 1, "api_key": "hunter2"}').decode() + " ",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + "aB3_-" * 9,
    encodebytes(b"a: b\n-----BEGIN RSA PRIVATE KEY-----\n" + b"MIIE" * 30 + b"\n-----END").decode(),
)
PROSE = (
    "",
    " ",
    "\n",
    "a",
    "An ",
    "ordinary sentence. ",
    "天気がいい。",
    "sk-",
    "Bear",
    "-----",
    "://",
    "@",
    "😀",
    '"',
    "BEGIN ",
    "é",
    ".",
    "eyJ",
)
texts = st.lists(st.sampled_from([*KEYS, *PROSE])).map("".join)


def shown(pieces: list[str]) -> list[str]:
    keys = ShapeFilter()
    return [*(keys.feed(piece) for piece in pieces), keys.finish()]


@given(texts)
@example("".join(f"{key} " for key in KEYS))
@example("".join(f"。{key}、" for key in KEYS))
def test_character_by_character_it_is_what_the_whole_text_would_be(text: str) -> None:
    whole = hide_shapes(text)
    assert "".join(shown(list(text))) == "".join(shown([text])) == whole


@given(texts, st.data())
def test_wherever_a_text_is_cut_the_pieces_are_those_of_the_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(shown(pieces)) == hide_shapes(text)


@given(texts, st.booleans(), st.data())
@example("a\n" + KEYS[0], False, None)
def test_wherever_arguments_are_cut_they_are_those_of_the_whole(
    text: str, in_ascii: bool, data: st.DataObject | None
) -> None:
    """Cut into single characters, or anywhere: also in the middle of an escape."""
    spelled = json.dumps({"text": text}, ensure_ascii=in_ascii).replace("/", "\\/").replace("k-", "k\\u002D")
    cuts = list(range(len(spelled))) if data is None else sorted(data.draw(st.lists(st.integers(0, len(spelled)))))
    parts = HiddenParts()
    pieces = [spelled[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(spelled)], strict=True)]
    said = [parts.feed([ArrivingPiece(0, "call", text=piece)]) for piece in pieces]
    shown = "".join(piece.text for each in [*said, parts.finish()] for piece in each)
    assert shown == hide_shapes(f'{{"text": "{text}"}}')


def test_an_escape_that_may_go_on_waits_and_a_whole_one_before_it_does_not() -> None:
    assert unescaped("a\\\\\\") == ("a\\", "\\")
    assert unescaped("a\\\\u00") == ("a\\u00", "")
    assert unescaped("a\\u00") == ("a", "\\u00")
    assert unescaped("\\d is no escape") == ("\\d is no escape", "")


def test_prose_waits_for_a_word_at_most() -> None:
    keys = ShapeFilter()
    assert keys.feed("It is call") == "It is "
    assert keys.feed("ed lichen. ") == "called lichen. "
    assert keys.feed("天気がいい") == "天気がいい"
    assert keys.feed("see https://example.org/a?b and") == "see https://example.org/a?b "


def test_a_run_without_end_is_given_up_and_shows_nothing_of_itself() -> None:
    keys = ShapeFilter()
    said = [keys.feed("So: "), *(keys.feed("sk-abcdefghijklmnop0123" * 100) for _ in range(50)), keys.feed(" and on ")]
    assert keys.is_full
    assert said[0] == "So: "
    assert "".join(said[1:]) + keys.finish() == ""
    assert HELD_CHARACTERS < 50 * 2300


@pytest.mark.parametrize("behind", [" ", "\n", "\r\n", "\t"], ids=repr)
def test_beginnings_of_base64_in_a_row_wait_for_the_last_two_at_most(behind: str) -> None:
    shapes, text = ShapeFilter(), f"eyJ{behind}" * 50
    given = ""
    for piece in text:
        given += shapes.feed(piece)
        assert shapes.waiting <= 2 * len(f"eyJ{behind}")
    assert given + shapes.finish() == text
