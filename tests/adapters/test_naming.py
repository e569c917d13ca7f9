"""The bookmark of a session: any text is one, another text is another one, and the name gives the text back."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.errors import InvalidArgument
from headish.integrations import safe_name, text_of
from headish.values.names import new_refusal

ODD = st.text(
    st.characters(codec=None)
    | st.sampled_from(["%", "-", ".", "~", "@", "\n", " ", "é", "\u0301", "\ud800", "\u200b", "😀"])
)


@given(ODD)
def test_any_text_is_a_name_that_gives_it_back(text: str) -> None:
    name = safe_name(text)
    assert new_refusal(name) is None
    assert text_of(name) in (text, None)
    assert text_of(name) == text or len(text) > 20


@pytest.mark.parametrize("text", ["main", "user_1-2", "a.b", "größe", "天気", "a" * 24])
def test_what_can_be_a_name_stays_as_it_is(text: str) -> None:
    assert safe_name(text) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "%"),
        ("%", "%25"),
        ("a b", "a%20b"),
        ("a\nb", "a%0ab"),
        ("..", ".%2e"),
        ("-x", "%2dx"),
        ("main~2", "main%7e2"),
        ("' OR 1=1; --", "'%20OR%201=1;%20--"),
        ("0" * 25, "%30" + "0" * 24),
        ("e\u0301", "e%cc%81"),
    ],
)
def test_what_no_name_may_hold_is_escaped(text: str, name: str) -> None:
    assert (safe_name(text), text_of(name)) == (name, text)


def test_texts_that_are_too_long_differ_by_their_hash() -> None:
    long = ["x" * 10_000 + end for end in ("", "y", "\n")] + ["😀" * 3000, "%" * 3000, "é" * 3000 + " "]
    names = [safe_name(text) for text in long]
    assert len(set(names)) == len(long)
    assert [new_refusal(name) for name in names] == [None] * len(long)
    assert [text_of(name) for name in names] == [None] * len(long)


@given(ODD, ODD)
def test_another_text_has_another_name(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["a%2", "%61", "a b", "%ff", "-", "%zz"])
def test_a_name_of_another_origin_is_no_text(name: str) -> None:
    assert text_of(name) is None


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="a session id is text"):
        safe_name(7)  # type: ignore[arg-type]


@pytest.mark.slow
def test_importing_the_package_imports_no_framework() -> None:
    frameworks = {"agents", "langchain_core", "google", "pydantic"}
    code = f"import sys, headish.integrations; print(*{frameworks} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.strip() == ""
