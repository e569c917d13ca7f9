"""Whatever stands in a file, an import ends with a result or with a named error, and what it stored is in order."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from headish.errors import InvalidImport
from imports.test_chatgpt import TIDES
from imports.test_claude_ai import BREAD
from imports.test_claude_code import WORK as SESSION
from imports.test_codex import WORK as ROLLOUT
from imports.test_gemini_cli import WORK as GEMINI
from imports.test_rows import SHARE, TOOLS, called
from support.places import Place

Encode = Callable[[Any], bytes]


def as_lines(records: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def as_array(records: Any) -> bytes:
    return json.dumps(records).encode()


FILES: dict[str, tuple[Any, Encode]] = {
    "claude-code": (SESSION, as_lines), "codex": (ROLLOUT, as_lines), "chatgpt": ([TIDES], as_array),
    "claude": ([BREAD], as_array), "gemini-cli": (GEMINI, as_lines), "hf": ([{"messages": TOOLS}], as_lines),
    "sharegpt": ([SHARE], as_array), "openai-log": ([called(TOOLS[0], answer="4")], as_lines),
}  # fmt: skip
ODD = st.sampled_from(
    ["null", "true", "-1", "1e300", "[]", "{}", "[[]]", "[null]", '{"type": []}', '""', '"\\ud800"', '"\\u0000"']
)
"""As JSON: what is drawn twice must not be one object, or a value would come to hold itself."""


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("format", FILES)
@examples(max_examples=12)
@given(data=st.data())
def test_odd_values_anywhere_cost_a_record_at_most(place: Place, format: str, data: st.DataObject) -> None:
    records, encode = FILES[format]
    records = copy.deepcopy(records)
    for _ in range(data.draw(st.integers(1, 3))):
        spots = list(places(records))
        if spots:
            container, key = data.draw(st.sampled_from(spots))
            container[key] = json.loads(data.draw(ODD))
    with place.fresh() as store:
        done = store.import_file(io.BytesIO(encode(records)), format)
        assert store.stats().turns == done.added
        assert store.import_file(io.BytesIO(encode(records)), format).added == 0


@pytest.mark.parametrize("format", FILES)
@examples(max_examples=8)
@given(data=st.data())
def test_bytes_that_were_cut_or_changed_raise_the_named_error_alone(
    place: Place, format: str, data: st.DataObject
) -> None:
    records, encode = FILES[format]
    whole = bytearray(encode(records))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=5))
    with place.fresh() as store:
        try:
            store.import_file(io.BytesIO(bytes(whole)), format)
        except InvalidImport as error:
            assert str(error)
