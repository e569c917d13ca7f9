"""What type checkers see of the async verbs: ``make types`` checks this module, and nothing runs it.

It calls the verbs that a checker could see wrongly: those with overloads, iterators or handles, and those that take
more than the sync verb.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, assert_type

from headish import Message, ReadTransaction, Turn
from headish.aio import AsyncAnswer, AsyncCapture, AsyncDatabase, AsyncStore, AsyncStream
from headish.aio.fronts import Turns
from headish.values.blocks import ToolResult, ToolUse
from headish.values.ids import TurnId
from headish.values.results.bookmarks import Bookmark
from headish.values.results.erasures import Receipt
from headish.values.results.exports import Exported
from headish.values.results.reports import Quota, Report


async def overloads(store: AsyncStore) -> None:
    assert_type(await store.messages("main", limit=3), list[tuple[Turn, Message]])
    assert_type(await store.messages("main", form="chat", drop=["mark"]), list[dict[str, Any]])


async def results_of_functions(store: AsyncStore) -> None:
    def count(read: ReadTransaction) -> int:
        return len(read.thread("main"))

    assert_type(await store.read(count), int)


async def iterators(store: AsyncStore) -> None:
    assert_type(store.turns("main"), AsyncStream[Turn])
    assert_type([turn async for turn in store.turns()], list[Turn])
    assert_type(store.export_each(["main"], "chat"), AsyncStream[Exported])
    assert_type([name async for name in store.bookmarks], list[str])
    assert_type([receipt async for receipt in store.erasures], list[Receipt])


async def handles(store: AsyncStore) -> None:
    async with store.open_answer("main", ptr="milli") as answer:
        assert_type(answer, AsyncAnswer)
        assert_type(await answer.finish(), Turn)
    assert_type(await store.capture("main", "openai"), AsyncCapture)
    async with AsyncDatabase.open("talk.db") as database, database.store("notes") as opened:
        assert_type(opened, AsyncStore)
    assert_type(await store.at_least("cursor"), AsyncStore)


async def parts(store: AsyncStore, database: AsyncDatabase) -> None:
    assert_type(await store.bookmarks["main"], TurnId)
    assert_type(await store.bookmarks.get("main"), TurnId | None)
    assert_type(await store.bookmarks.list("ma", by="recency"), list[Bookmark])
    assert_type(await database.spaces.limit("notes", turns=3), Quota)
    assert_type(await database.verify(), dict[str, Report])


async def arguments_of_the_loop(store: AsyncStore) -> None:
    async def said() -> AsyncIterator[str]:
        yield "Hello"

    async def work(calls: Sequence[ToolUse]) -> list[ToolResult]:
        return []

    assert_type(await store.add_turns(said()), Turns)
    assert_type(await store.run_tools("main", work), Turn | None)
    assert_type(await store.reply("main", "openai", said()), Turn)
    assert_type(await store.add_turn("Hello", bookmark="main", respond=True), Turn)
