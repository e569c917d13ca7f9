"""What the page says that answers cost: by the user's own table, with its currency, and nothing that is not known."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.aio import AsyncStore
from headish.content.prices import Prices, read_prices, say_amount
from headish.history.reading.costs import Cost
from headish.history.reading.usage import read_replies
from headish.serve.files.writing import write_pages
from headish.serve.pages.money import say_cost, say_reply_cost
from headish.serve.pages.threads import read_about
from headish.serve.recorder.recording import CallRecorder
from headish.store.reading import reports
from headish_cli.commands.serving import passed as commands
from support.command import Command, at_terminal
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, events, passed, user
from support.serving import serving

SAID = datetime(2026, 11, 26, tzinfo=UTC)
TABLE = """
currency = "CHF"
[[price]]
model = "claude-x"
input = 1000
cached_input = 100
output = 5000
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "money.db") as made:
        yield made


def page_of(tmp_path: Path, path: str, **settings: Any) -> str:
    with serving(tmp_path / "money.db", tmp_path / "state", **settings) as served, served.client() as client:
        answer = client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 200, answer.text
        return str(answer.text)


def talk(store: Store) -> None:
    recorder = CallRecorder(lambda _space: store)
    messages = [user("Hi")]
    for text in ("Hello", "Bye"):
        recorder.record(passed("anthropic", anthropic_body(messages), anthropic_answer(text), headers=CLAUDE_CODE))
        messages += [assistant(text), user("and")]


def test_thread_turns_and_calls_say_what_they_cost(store: Store, tmp_path: Path) -> None:
    talk(store)
    table = tmp_path / "prices.toml"
    table.write_text(TABLE, "utf-8")
    # 10 in, 90 from a cache, 7 out: 0.01 + 0.009 + 0.035, twice
    thread = page_of(tmp_path, "/c/claude-code/097ac8", prices=str(table))
    assert "<span>Cost: 0.1080 CHF</span>" in thread
    assert thread.count("<span>0.0540 CHF</span>") == 2
    assert page_of(tmp_path, "/calls", prices=str(table)).count("<span>0.0540 CHF</span>") == 2
    table.write_text(TABLE.replace("claude-x", "another"), "utf-8")
    thread = page_of(tmp_path, "/c/claude-code/097ac8", prices=str(table))
    assert "<span>Cost: no price</span>" in thread
    assert "CHF" not in thread
    assert page_of(tmp_path, "/calls", prices=str(table)).count("<span>no price</span>") == 2


def test_without_a_table_no_money_is_mentioned(store: Store, tmp_path: Path) -> None:
    talk(store)
    for path in ("/c/claude-code/097ac8", "/calls"):
        page = page_of(tmp_path, path)
        assert "7 out" in page
        assert not any(word in page for word in ("Cost", "USD", "no price"))


def test_amounts_are_never_a_silent_zero() -> None:
    said = [say_amount(Decimal(each), "EUR") for each in ("0", "0.00004", "0.0001", "1234.5")]
    assert said == ["0.0000 EUR", "less than 0.0001 EUR", "0.0001 EUR", "1,234.5000 EUR"]

    def cost(replies: int, silent: int, unpriced: int, amount: str = "0") -> str:
        return say_cost(Cost(None, replies, silent, unpriced, Decimal(amount), "EUR"))

    assert cost(0, 0, 0) == cost(2, 2, 0) == ""
    assert cost(2, 1, 1) == cost(1, 0, 1) == "no price"
    assert cost(4, 1, 2, "0.5") == "0.5000 EUR (1 without token counts, 2 without a price)"
    assert cost(1, 0, 0) == "0.0000 EUR", "a price of zero is one"
    prices = read_prices({"price": [{"model": "m", "input": 1, "output": 1, "provider": "anthropic"}]})
    reply = {"model": "m", "provider": "anthropic", "usage": {"input_tokens": 10**6}}
    assert say_reply_cost(reply, SAID, prices) == "1.0000 USD"
    assert say_reply_cost({**reply, "provider": "openai"}, SAID, prices) == "no price"
    assert say_reply_cost({**reply, "usage": None}, SAID, prices) == say_reply_cost(reply, SAID, None) == ""


def test_exported_pages_say_what_the_page_says_and_without_a_table_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(store)
    table, command = tmp_path / "prices.toml", Command(str(tmp_path / "money.db"))
    table.write_text(TABLE, "utf-8")
    monkeypatch.setenv("HEADISH_PRICES", str(table))
    command("serve", "--export", str(tmp_path / "out"))
    pages = "".join(each.read_text("utf-8") for each in (tmp_path / "out").rglob("*.html"))
    assert "<span>Cost: 0.1080 CHF</span>" in pages
    assert pages.count("<span>0.0540 CHF</span>") == 2
    asyncio.run(write_pages(str(tmp_path / "money.db"), "default", tmp_path / "out", overwrite=True))
    pages = "".join(each.read_text("utf-8") for each in (tmp_path / "out").rglob("*.html"))
    assert "7 out" in pages
    assert not any(word in pages for word in ("Cost", "CHF", "no price"))
    table.write_text("[[price]]\n", "utf-8")
    assert "prices.toml" in command.fails("serve", "--export", str(tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_the_list_of_calls_says_what_each_cost_and_nothing_where_that_is_not_known(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(store)
    unanswered = passed("chat", {"model": "claude-x", "messages": [user("Ho")]}, b"", status=None)
    CallRecorder(lambda _space: store).record(unanswered)
    table = tmp_path / "prices.toml"
    table.write_text(TABLE + 'provider = "anthropic"\n', "utf-8")
    command = Command(str(tmp_path / "money.db"))
    plain = command("call", "list").out
    assert "CHF" not in plain
    ids = [line.split()[0] for line in plain.splitlines()]
    records = [json.loads(line) for line in command("call", "list", "--json").out.splitlines()]
    monkeypatch.setenv("HEADISH_PRICES", str(table))
    lines = command("call", "list").out.splitlines()
    assert [line.count("  0.0540 CHF") for line in lines] == [0, 1, 1]
    assert lines[0] == plain.splitlines()[0], "no zero, and no blanks at its end"
    priced = [json.loads(line) for line in command("call", "list", "--json").out.splitlines()]
    assert priced == [records[0], *(each | {"cost": "0.054", "currency": "CHF"} for each in records[1:])]
    for id, record in zip(ids, priced, strict=True):
        assert json.loads(command("call", "show", id, "--json").out) == record
        assert ("cost       0.0540 CHF\n" in command("call", "show", id).out) == ("cost" in record)
    table.write_text(TABLE + 'provider = "openai"\n', "utf-8")
    assert command("call", "list").out == plain
    assert [json.loads(line) for line in command("call", "list", "--json").out.splitlines()] == records


def test_the_list_of_calls_says_which_did_not_come_to_their_end(store: Store, tmp_path: Path) -> None:
    for outcome in ("broken", "client gone", "unrecorded", "ok"):
        call = passed("chat", {"model": "claude-x", "messages": [user(outcome)]}, b"", outcome=outcome)
        CallRecorder(lambda _space: store).record(call)
    lines = Command(str(tmp_path / "money.db"))("call", "list").out.splitlines()
    assert [line.partition("claude-x  ")[2].partition("  ")[0] for line in lines] == [
        "200", "200 unrecorded", "200 client gone", "200 broken",
    ]  # fmt: skip


def test_the_list_of_calls_says_which_answers_ended_with_an_error(store: Store, tmp_path: Path) -> None:
    answers = (
        anthropic_answer("Hello"),
        anthropic_answer("Half of it", whole=False) + events([{"type": "error", "error": {"message": "Overloaded"}}]),
    )
    for answer in answers:
        CallRecorder(lambda _space: store).record(passed("anthropic", anthropic_body([user("Hi")]), answer))
    refused = passed("anthropic", anthropic_body([user("No")]), b'{"error": {"message": "Slow down"}}', status=429)
    CallRecorder(lambda _space: store).record(refused)
    lines = Command(str(tmp_path / "money.db"))("call", "list").out.splitlines()
    assert [re.findall(r"  ((?:200|429)(?: \w+)?)  ", line) for line in lines] == [["429"], ["200 error"], ["200"]]


def test_calls_that_broke_off_are_found_however_many_others_are_newer(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "LOOKED_AT", 7)
    recorder = CallRecorder(lambda _space: store)
    talk(store)
    talked = [user("Hi"), assistant("Hello"), user("and")]
    ids = []
    for prompt in ("Be kind.", "Be short."):
        call = passed("anthropic", anthropic_body(talked, system=prompt * 200), b"", headers=CLAUDE_CODE)
        recorder.record(call)
        ids.append(call.id)
    for number in range(40):
        recorder.record(passed("chat", {"model": "claude-x", "messages": [user(f"{number}")]}, b""))
    command = Command(str(tmp_path / "money.db"))
    lines = command("call", "list", "--broke").out.splitlines()
    assert [line.split()[0] for line in lines] == ids[::-1]
    assert all("broke at system" in line for line in lines)
    assert command("call", "list", "--broke", "-n", "1").out.splitlines() == lines[:1]


def test_at_a_terminal_the_list_of_calls_has_titles_and_its_numbers_stand_below_them(
    store: Store, tmp_path: Path
) -> None:
    talk(store)
    target = str(tmp_path / "money.db")
    titles, *lines = at_terminal("--db", target, "call", "list", columns=200).splitlines()
    assert titles.split() == ["call", "time", "client", "model", "status", "input", "output"]
    piped = Command(target)("call", "list").out.splitlines()
    assert [line.split() for line in lines] == [line.split() for line in piped], "a pipe gets calls alone"
    assert {line.index("claude-x") for line in lines} == {titles.index("model")}
    assert {len(line) for line in lines} == {len(titles)}
    assert at_terminal("--db", target, "call", "list", "--broke").splitlines() == ["No calls."]


def test_the_replies_of_a_thread_are_read_once_for_tokens_and_cost(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(store)
    (tmp_path / "prices.toml").write_text(TABLE, "utf-8")

    async def about(prices: Prices | None) -> dict[str, Any]:
        async with AsyncStore.open(tmp_path / "money.db") as opened:
            return await read_about(opened, await opened.stretch("claude-code/097ac8"), None, prices)

    reads: list[object] = []
    monkeypatch.setattr(reports, "read_replies", lambda *given: reads.append(given) or read_replies(*given))
    plain, priced = asyncio.run(about(None)), asyncio.run(about(read_prices(str(tmp_path / "prices.toml"))))
    assert len(reads) == 2
    assert (priced["tokens"], priced["cost"]) == (plain["tokens"], "0.1080 CHF")
    assert (priced["usage"].replies, priced["usage"].silent) == (plain["usage"].replies, 0) == (2, 0)


def test_a_thread_that_is_too_long_to_be_counted_says_so(store: Store, tmp_path: Path) -> None:
    store.add_turns([{"content": "turn 0", "bookmark": "long"}])
    store.add_turns([{"content": f"turn {n}", "continues": "long"} for n in range(1, 2_000)], moves=True)
    table = tmp_path / "prices.toml"
    table.write_text(TABLE, "utf-8")
    assert "not counted" not in page_of(tmp_path, "/c/long")
    store.add_turn("one more", continues="long")
    assert "<span>Tokens: not counted above 2,000 turns</span>" in page_of(tmp_path, "/c/long")
    assert "<span>Tokens and cost: not counted above" in page_of(tmp_path, "/c/long", prices=str(table))
    asyncio.run(write_pages(str(tmp_path / "money.db"), "default", tmp_path / "out"))
    assert "<span>Tokens: not counted above 2,000 turns</span>" in (tmp_path / "out/c/long/index.html").read_text()


def test_a_table_that_cannot_be_read_keeps_the_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = Command(str(tmp_path / "none.db"))
    for text in ("currency = 1", "[[price]]\nmodel = 'm'\ninput = -1\noutput = 1"):
        (tmp_path / "bad.toml").write_text(text, "utf-8")
        monkeypatch.setenv("HEADISH_PRICES", str(tmp_path / "bad.toml"))
        done = command.run("serve", "--port", "0")
        assert done.code == 2
        assert "bad.toml" in done.err
    assert not (tmp_path / "none.db").exists()
