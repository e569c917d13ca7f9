"""What answers cost: by a table of the user's, in decimals, each answer once, and nothing of it in the database."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.content.prices import Price, PricedAnswer, read_prices
from headish.errors import InvalidArgument, InvalidPrices
from headish.providers import parse_response
from support.insides import unchanged

TABLE = """
currency = "EUR"

[[price]]
model = "small*"
until = 2020-01-01
input = 999
output = 999

[[price]]
model = "small*"
input = 0.1
cached_input = 0.01
cache_write = 0.125
output = 0.3
reasoning = 0.2
batch = 0.5

[[price]]
model = "large"
provider = "anthropic"
over = 100
input = 20
output = 20

[[price]]
model = "large"
input = 10
output = 10
"""
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3, "output_tokens": 4}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "prices.toml").write_text(TABLE, "utf-8")
    return tmp_path / "prices.toml"


def answer(store: Store, headish: str, model: str = "small-1", usage: Any = USAGE) -> str:
    said = {"type": "message", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}
    return store.reply(headish, "anthropic", {**said, "model": model, "usage": usage}).id


@pytest.fixture
def talked(store: Store) -> Store:
    store.add_turn("one?", bookmark="main")
    answer(store, "main")
    store.add_turn("two?", continues="main")
    answer(store, "main", "large")
    return store


def test_each_kind_of_token_has_its_price_and_no_digit_is_lost(talked: Store, table: Path) -> None:
    small, large = talked.cost("main", prices=table, by="model")[::-1]
    assert (small.key, small.cost) == (
        "small-1",
        Decimal("0.000002645"),
    )  # 10×.1 + 7×.01 + 3×.125 + 4×.3, in millionths
    assert (large.key, large.cost, large.currency) == ("large", Decimal("0.00024"), "EUR")
    [whole] = talked.cost(prices=table)
    assert whole.to_dict() == {
        "key": None, "replies": 2, "silent": 0, "unpriced": 0, "cost": "0.000242645", "currency": "EUR", "models": [],
    }  # fmt: skip


def test_the_first_price_that_fits_holds(table: Path, store: Store) -> None:
    store.add_turn("long?", bookmark="main")
    answer(store, "main", "large", {"input_tokens": 101, "output_tokens": 1})
    assert store.cost(prices=table)[0].cost == Decimal("0.00204")


def test_what_has_no_price_or_no_counts_is_said(talked: Store, table: Path) -> None:
    answer(talked, "main", "odd")
    answer(talked, "main", usage=None)
    [cost] = talked.cost(None, prices=table)
    assert (cost.replies, cost.silent, cost.unpriced, cost.models) == (4, 1, 1, ("odd",))
    assert cost.cost == Decimal("0.000242645")


def test_a_time_chooses(talked: Store, table: Path) -> None:
    assert talked.cost(None, prices=table, since="2100-01-01")[0].replies == 0
    assert talked.cost(None, prices=table, since="yesterday", until="today")[0].replies == 2
    assert talked.cost(None, prices=table, until="2001-01-01", by="day") == []


def test_nothing_of_it_is_stored(talked: Store, table: Path) -> None:
    with unchanged(talked):
        talked.cost(None, prices=table, by="day")


def test_json_and_a_mapping_say_the_same_as_toml(tmp_path: Path) -> None:
    row: dict[str, Any] = {"model": "m", "input": 0.1, "output": "0.3", "since": "2026-01-01"}
    (tmp_path / "p.json").write_text(json.dumps({"price": [row]}), "utf-8")
    (tmp_path / "p.toml").write_text('[[price]]\nmodel = "m"\ninput = 0.1\noutput = "0.3"\nsince = 2026-01-01', "utf-8")
    found = [read_prices(tmp_path / "p.json"), read_prices(str(tmp_path / "p.toml")), read_prices({"price": [row]})]
    assert found[0] == found[1] == found[2]
    assert found[0].price[0].input == Decimal("0.1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("price = 3", "Expected `array`"),
        ("[[price]]\nmodel = 'm'\ninput = 1", "missing required field `output`"),
        ("[[price]]\nmodel = 'm'\ninput = 1\noutput = 1\ninptu = 2", "unknown field `inptu`"),
        ("[[price]]\nmodel = 'm'\ninput = -1\noutput = 1", "input of price 1"),
        ("[[price]]\nmodel = 'm'\ninput = nan\noutput = 1", "input of price 1"),
        ("[[price]]\nmodel = 'm'\ninput = inf\noutput = 1", "input of price 1"),
        ("[[price]]\nmodel = 'm'\ninput = 1e-99999\noutput = 1", "input of price 1"),
        ("[[price]]\nmodel = 'm'\ninput = 1e99999\noutput = 1", "input of price 1"),
        ("[[price]]\nmodel = 'm'\ninput = 'x'\noutput = 1", "decimal"),
        ("[[price]\n", "not TOML"),
        ("\udcff", "not UTF-8"),
        ("currency = 3\nprice = []", "Expected `str`"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InvalidPrices, match=words) as raised:
        read_prices(file)
    assert str(file) in str(raised.value)


def test_so_is_one_that_is_not_there_or_no_file(store: Store, tmp_path: Path) -> None:
    for place in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InvalidPrices, match="cannot be read from"):
            store.cost(None, prices=place)
    with pytest.raises(InvalidArgument, match="cost is counted by"):
        store.cost(None, prices={"price": []}, by="nothing")


@given(st.decimals("0", "1000", places=6), st.integers(0, 2**62), st.integers(0, 2**62))
def test_sums_are_exact_for_any_number_of_tokens(amount: Decimal, input: int, output: int) -> None:
    price = Price("m", amount, amount)
    wanted = amount.scaleb(6).to_integral_exact() * (input + output)
    assert price.cost({"input_tokens": input, "output_tokens": output}).scaleb(12) == wanted


class TestPartsWithAPriceOfTheirOwn:
    HOUR = {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}
    SPOKEN = {"prompt_tokens": 10, "prompt_tokens_details": {"audio_tokens": 6}, "completion_tokens": 5,
              "completion_tokens_details": {"audio_tokens": 4}}  # fmt: skip

    @pytest.mark.parametrize(("row", "cost"), [({"cache_write_1h": 6}, 36), ({}, 30)])
    def test_what_a_cache_keeps_for_an_hour(self, store: Store, row: dict[str, Any], cost: int) -> None:
        store.add_turn("Hi", bookmark="main")
        answer(store, "main", usage={**USAGE, "cache_creation": self.HOUR})
        table = {"price": [{"model": "*", "input": 1, "output": 1, "cache_write": 3, **row}]}
        [counted] = store.cost("main", prices=table)
        assert counted.cost * 1_000_000 == cost
        assert store.usage("main")[0].to_dict()["cache_creation_1h_input_tokens"] == 2

    def test_sound_is_a_part_of_what_was_said_either_way(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main")
        said = {"object": "chat.completion", "model": "m", "usage": self.SPOKEN}
        store.reply("main", "openai", {**said, "choices": [{"finish_reason": "stop", "message": {"content": "Ho"}}]})
        table = {"price": [{"model": "*", "input": 1, "output": 10, "input_audio": 100, "output_audio": 1000}]}
        assert store.cost("main", prices=table)[0].cost * 1_000_000 == 4 + 600 + 10 + 4000

    def test_gemini_lists_sound_by_kind(self) -> None:
        said = {"promptTokenCount": 9, "candidatesTokenCount": 3}
        said["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": 2}, {"modality": "AUDIO", "tokenCount": 7}]
        said["candidatesTokensDetails"] = [{"modality": "AUDIO", "tokenCount": 3}]
        usage = parse_response("gemini", {"candidates": [], "usageMetadata": said}).usage
        assert usage is not None
        assert (usage.input_audio_tokens, usage.output_audio_tokens) == (7, 3)


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [("claude-[1m]", ["claude-[1m]"], ["claude-1", "claude-m"]), ("o?", ["o?"], ["o3"]), ("o*", ["o3", "o?"], ["3"])],
)
def test_only_a_star_stands_for_other_characters(pattern: str, fitting: list[str], others: list[str]) -> None:
    price = Price(pattern, Decimal(1), Decimal(1))

    def fits(model: str) -> bool:
        return price.fits(PricedAnswer(model, None, None, date(2026, 1, 1), 0, is_batch=False))

    assert [model for model in fitting + others if fits(model)] == fitting
