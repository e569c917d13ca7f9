"""JSON as headish keeps it: what is refused, by which path, and that bad input costs no more than good input."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.content import strictjson
from headish.errors import InvalidContent, TooDeep
from headish.values.limits import NESTING_LIMIT

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(value=VALUES)
def test_a_value_comes_back_from_its_text(value: Any) -> None:
    assert strictjson.decode(json.dumps(value), "x") == value
    assert strictjson.decode(json.dumps(value, ensure_ascii=False, indent=1), "x") == value


@given(value=VALUES)
def test_a_value_that_was_read_is_encoded_as_one_that_was_checked(value: Any) -> None:
    assert strictjson.encode_read(value) in (None, strictjson.encode(value))


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], {1: 2}, {"a": {None: 1}}, (1, 2), ["\ud800"], {"\ud800": 1}, b"a", 1j, {1}],
    ids=ascii,
)
def test_what_a_check_refuses_or_changes_is_left_to_it(value: Any) -> None:
    assert strictjson.encode_read({"a": value}) is None
    assert strictjson.encode_read({"a": [1, "é", None, {"b": -0.5}]}) is not None


def test_nesting_is_left_to_the_check() -> None:
    value: Any = 1
    for _ in range(NESTING_LIMIT + 1):
        value = [value]
    assert strictjson.encode_read(value) is None
    assert strictjson.encode_read(value[0]) is not None


@given(value=VALUES)
def test_objects_in_which_a_key_stands_twice_are_refused(value: Any) -> None:
    spelled = json.dumps(value)
    for text in (f'{{"a":{spelled},"a":1}}', f'[{{"\\u0061":{spelled},"b\\":":0,"a" :1}}]'):
        with pytest.raises(InvalidContent, match="the key 'a' appears twice in one object"):
            strictjson.decode(text, "x")


@pytest.mark.parametrize(
    "text", ['{"a\\":": 1, "b": ":"}', '{"a" : 1, "b"\n:2}', '{"\\\\": 1}', '{"a": "\\":"}', '{":": {":":1}}']
)
def test_colons_in_odd_places_are_no_duplicates(text: str) -> None:
    assert strictjson.decode(text, "x") == json.loads(text)


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ([1, [2, {"a": ["\ud800"]}]], "$[1][1].a[0]", "lone surrogate"),
        ({"a": {"b\udc00": 1}}, "$.a", "lone surrogate"),
        ([[float("nan")]], "$[0][0]", "not a JSON number"),
        ([0.0] * 50 + [float("inf")], "$[50]", "not a JSON number"),
        ([1] * 50 + [10**5000], "$[50]", "4300 digits"),
        ({"a": [{1: 2}]}, "$.a[0]", "is not a string"),
        ({"a": [b"x"]}, "$.a[0]", "a bytes is not a JSON value"),
        (["x"] * 30 + [{"deep": {1, 2}}], "$[30].deep", "a set is not a JSON value"),
    ],
)
def test_the_first_bad_value_is_named_by_its_path(value: Any, path: str, reason: str) -> None:
    with pytest.raises(InvalidContent, match=reason) as refused:
        strictjson.check(value, "x")
    assert refused.value.path == path


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_is_refused_past_the_limit_and_named(opening: str, closing: str) -> None:
    inner = "[]" if opening == "[" else "{}"
    good = opening * (NESTING_LIMIT - 1) + inner + closing * (NESTING_LIMIT - 1)
    assert strictjson.decode(good, "x") is not None
    with pytest.raises(TooDeep) as refused:
        strictjson.decode(opening + good + closing, "x")
    assert len(refused.value.path) <= 80


LONG = "k" * 100_000
SHAPES = {
    "integers": [1] * 200_000,
    "integers under a long key": {LONG: [1] * 100_000},
    "lists under a long key": {LONG: [[1]] * 20_000},
    "many keys": {f"key {number}": number for number in range(50_000)},
    "small objects": [{"a": 1, "b": "x"}] * 30_000,
    "texts": [f"text {number}" for number in range(50_000)],
    "letters outside ASCII": [f"t\u00ebxt {number}" for number in range(50_000)],
    "depth": [[[[[1]]]]] * 20_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spoiled", [False, True], ids=["good", "bad"])
def test_memory_is_a_fixed_multiple_of_the_values(shape: str, spoiled: bool) -> None:
    """A path for each element once made 6 GiB of 100,000 ones under a long key."""
    text = json.dumps([SHAPES[shape], 1e308], ensure_ascii=False)
    text = text.replace("1e+308", "1e999") if spoiled else text

    def peak(read: Any) -> int:
        tracemalloc.start()
        try:
            read(text)
        except InvalidContent:
            assert spoiled
        finally:
            used = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return used

    assert peak(lambda each: strictjson.decode(each, "x")) < 4 * peak(json.loads) + 4_000_000


def test_duplicate_keys_cost_no_more_than_one_look_at_each() -> None:
    """Counted, not timed: 20,000 keys of which two are equal once took 200 million comparisons."""
    compared = 0

    class Key(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    pairs: list[tuple[str, Any]] = [(Key(number), number) for number in range(20_000)]
    with pytest.raises(ValueError, match="the key '7' appears twice"):
        strictjson._unique([*pairs, (Key(7), 0)])
    assert compared < 100


def test_what_is_sound_can_be_kept_with_a_few_objects_around_it() -> None:
    def nested(levels: int) -> bytes:
        return b'[{"a":' * (levels // 2) + b'"x"' + b"}]" * (levels // 2)

    def is_kept(text: bytes) -> bool:
        return strictjson.is_sound(text, msgspec.json.decode(text))

    assert [is_kept(nested(levels)) for levels in (0, 2, NESTING_LIMIT // 2)] == [True] * 3
    assert [is_kept(nested(levels)) for levels in (NESTING_LIMIT - 2, NESTING_LIMIT, 2 * NESTING_LIMIT)] == [False] * 3
    # Brackets that are text, or stand side by side, are no levels.
    assert is_kept(b'["' + b"[{" * NESTING_LIMIT + b'"]')
    assert is_kept(b"[" + b",".join([b'{"a":[]}'] * NESTING_LIMIT) + b"]")
    deepest = max(levels for levels in range(0, 2 * NESTING_LIMIT, 2) if is_kept(nested(levels)))
    strictjson.check({"meta": {"of": {"it": msgspec.json.decode(nested(deepest))}}}, "meta")
