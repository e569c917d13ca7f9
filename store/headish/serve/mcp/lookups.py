"""The tools: methods over a space and a scope, with a client's arguments. Each returns the text of its result."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from secrets import token_hex
from typing import Any

from headish.aio import AsyncStore
from headish.content.excerpts import one_line
from headish.errors import HeadishError, InvalidArgument, TooLarge, UnknownTurn
from headish.history.conversations.saying import check_changes
from headish.serve.mcp.budgets import ResultCursor, fit, read_cursor
from headish.serve.mcp.quoting import about, mask, quote
from headish.serve.mcp.scope import Scope
from headish.serve.mcp.seeing import SEEN_ROLES, Eyes, Seen
from headish.values.ids import TurnId
from headish.values.names import ABSENT
from headish.values.results.conversations import Entry
from headish.values.results.searches import Hit
from headish.values.times import read_moment

NOTE_LIMIT_BYTES = 16 * 1024
"""The longest note. Error: ``TooLarge``."""
HITS_LIMIT = 50
LOOKED_AT = 200
"""How many hits a search checks for whether they may be shown, and how many conversations are read at once."""
LISTED_LIMIT = 5_000
"""How many conversations a list looks at."""
NOTHING_MATCHED = "Every word must be in one turn: try fewer words, begin*, a OR b, or fewer filters."
AROUND = 5
"""How many messages are shown before the turn that ``around`` names."""


class Lookups:
    """The tools over one space."""

    def __init__(
        self, store: AsyncStore, scope: Scope, remembered: OrderedDict[tuple[str, TurnId], frozenset[TurnId]]
    ) -> None:
        """``remembered`` is the memory of ``Eyes``; all lookups may share one."""
        self._store, self._scope, self._eyes = store, scope, Eyes(store, remembered)

    async def search_history(
        self,
        query: str,
        *,
        since: str | None = None,
        tool: str | None = None,
        name: str | None = None,
        limit: int = 8,
        cursor: str | None = None,
        exclude_session: str | None = None,
    ) -> str:
        """Search: hits with their snippets, the best first."""
        start, count = read_cursor(cursor), max(1, min(limit, HITS_LIMIT))
        hits = await self._store.search(
            query, since=self._later(since), tool=tool, name=name, limit=LOOKED_AT, fields=("text", "calls")
        )
        without = self._scope.without(exclude_session)
        quoted: list[dict[str, Any]] = []
        for hit in hits:
            if len(quoted) > start.item + count:  # one more than is shown, to know whether others follow
                break
            if await self._takes(hit, without):
                quoted.append(_quote_hit(hit))
        more = len(quoted) > start.item + count
        hint = {} if quoted else {"hint": NOTHING_MATCHED}
        return fit(quoted[: start.item + count], start, more=more, name="hits", **_limited(hits), **hint)

    async def list_conversations(
        self, *, since: str | None = None, name: str | None = None, tag: str | None = None, limit: int = 20,
        cursor: str | None = None, exclude_session: str | None = None,
    ) -> str:  # fmt: skip
        """List conversations, the newest first, each by its name or the id of its last turn."""
        start, count = read_cursor(cursor), max(1, min(limit, HITS_LIMIT))
        end = start.item + count
        chosen = {"since": self._later(since), "names": name, "tag": tag}
        # One more than is shown, to know whether others follow.
        entries, limited = await self._find_entries(end + 1, chosen, self._scope.without(exclude_session))
        # Those before the cursor are not shown, and need no words.
        words = [await self._first_words(each) if at >= start.item else "" for at, each in enumerate(entries[:end])]
        quoted = [_quote_entry(each, begins) for each, begins in zip(entries[:end], words, strict=True)]
        return fit(quoted, start, more=len(entries) > end, name="conversations", **limited)

    async def _find_entries(
        self, wanted: int, chosen: Mapping[str, Any], without: tuple[str, ...]
    ) -> tuple[list[Entry], dict[str, int]]:
        """The newest conversations that the filters and the scope choose, ``wanted`` at most; and a report if only the
        first ``LISTED_LIMIT`` were looked at. A page of the store may have none of them while others follow."""
        found: list[Entry] = []
        after: str | None = None
        for _ in range(LISTED_LIMIT // LOOKED_AT):
            page = await self._store.conversations.list(limit=LOOKED_AT, after=after, **chosen)
            for entry in page.entries:
                names = (entry.conversation.name,) if entry.conversation.name else ()
                if await self._scope.takes_names(self._store, names, without):
                    found.append(entry)
                if len(found) == wanted:
                    return found, {}
            after = page.after
            if after is None:
                return found, {}
        return found, {"looked_at_the_first": LISTED_LIMIT}

    async def _first_words(self, entry: Entry) -> str:
        """What a conversation without a title begins with, as far as it may be seen; empty if it cannot be read. Cost:
        reads its thread."""
        conversation = entry.conversation
        if conversation.record.title:
            return ""
        try:
            seen = await self._thread(conversation.name or conversation.turn)
        except HeadishError:  # one damaged thread must not hide the others
            return ""
        texts = (each.message.text for each in seen if each.message.role == "user")
        return one_line(mask(next(filter(None, texts), "")))

    async def read_thread(
        self, headish: str, *, around: str | None = None, cursor: str | None = None, with_results: bool = False
    ) -> str:
        """Read the messages of a thread, oldest first; from a few before ``around``, or from the cursor on."""
        seen = await self._thread(headish)
        start = read_cursor(cursor)
        if around is not None and cursor is None:
            turn = (await self._store.get(around)).id
            at = next((number for number, each in enumerate(seen) if each.turn.id == turn), None)
            if at is None and turn == (await self._store.get(headish)).id:
                at = len(seen)  # the last turn is not shown, as an overlay is not
            if at is None:
                raise UnknownTurn(around)
            start = ResultCursor(max(0, at - AROUND))
        quoted = [quote(each, with_results=with_results) for each in seen]
        return fit(quoted, start, name="messages", messages_in_all=len(quoted))

    async def read_turn(self, headish: str, *, cursor: str | None = None) -> str:
        """Read one turn, with the results of tools in it."""
        seen = await self._turn(headish)
        return fit([quote(seen, with_results=True)], read_cursor(cursor), name="messages")

    async def compare(self, a: str, b: str, *, cursor: str | None = None) -> str:
        """Compare two threads: what each says after the last turn that they share."""
        first, second = await self._thread(a), await self._thread(b)
        shared = sum(
            1 for _ in takewhile(lambda pair: pair[0].turn.id == pair[1].turn.id, zip(first, second, strict=False))
        )
        quoted = [
            {"in": side, **quote(each, with_results=False)}
            for side, seen in (("a", first), ("b", second))
            for each in seen[shared:]
        ]
        return fit(quoted, read_cursor(cursor), name="messages", shared=shared)

    async def save_note(self, text: str, tags: Sequence[str] = ()) -> str:
        """Store a note as a user turn under a name of its own below ``notes/``."""
        size = len(text.encode(errors="surrogatepass"))
        if size > NOTE_LIMIT_BYTES:
            raise TooLarge("a note", size, NOTE_LIMIT_BYTES)
        if not text.strip():
            raise InvalidArgument("a note says something")
        check_changes({"tags": tags})  # before the first of three writes
        turn = await self._store.add_turn(text)
        # The last digits of an id are random; the first are its time, alike for notes of one moment.
        name = f"notes/{turn.time:%Y-%m-%d}/{turn.id[-8:]}"
        await self._store.bookmarks.set(name, turn.id, expect=ABSENT)
        if tags:
            await self._store.conversations.set(name, tags=list(tags))
        return fit([{"turn": turn.id, "name": name}], read_cursor(None), name="saved")

    async def fork(self, headish: str, name: str) -> str:
        """Give a turn a new name, so that continuing it moves no other name."""
        await self._turn(headish)
        if not self._scope.takes_name(name):  # a taken name would be refused otherwise, and so be known to exist
            raise InvalidArgument("this server shows no conversation of such a name: choose one like those it lists")
        if self._scope.tag is not None:  # no name has the tag before it is set, so any taken one may be hidden
            name = f"{name}-{token_hex(4)}"
        turn = await self._store.get(headish)  # an overlay itself: before it, what it hides would be shown
        bookmark = await self._store.bookmarks.set(name, turn.id, expect=ABSENT)
        return fit([{"turn": bookmark.turn, "name": bookmark.name}], read_cursor(None), name="saved")

    async def _thread(self, headish: str) -> list[Seen]:
        seen, place = await self._eyes.thread(headish)
        if not await self._scope.takes_names(self._store, place.names, self._scope.without(None)):
            raise UnknownTurn(headish)  # as for a turn that does not exist: an agent must not learn what is hidden
        return [each for each in seen if self._scope.takes_time(each.turn)]

    async def _turn(self, headish: str) -> Seen:
        seen, place = await self._eyes.turn(headish)
        takes = await self._scope.takes_names(self._store, place.names, self._scope.without(None))
        if not takes or not self._scope.takes_time(seen.turn):
            raise UnknownTurn(headish)
        return seen

    async def _takes(self, hit: Hit, without: tuple[str, ...]) -> bool:
        if hit.turn.meta.role not in SEEN_ROLES or not self._scope.takes_time(hit.turn):
            return False
        if not await self._scope.takes_names(self._store, hit.names, without):
            return False
        return await self._eyes.may_be_seen(hit.turn.id, hit.heads)

    def _later(self, since: str | None) -> datetime | None:
        """The later of the call's ``since`` and the scope's: a call can only narrow the scope."""
        moment = read_moment(since or None, "since")
        times = [each for each in (moment, self._scope.since) if each is not None]
        return max(times) if times else None


def _quote_hit(hit: Hit) -> dict[str, Any]:
    """Quote a hit with its snippet. A hit in a call has no snippet: its words come without the names of the arguments,
    so a key among them could not be recognised."""
    place: dict[str, Any] = {"names": list(hit.names[:5])} if hit.names else {}
    if not hit.names and hit.heads:  # behind 2,000 branches, none may be found
        place = {"end": hit.heads[0]}
    text = mask(hit.snippet) if hit.field == "text" else "[a call matches: read_turn shows it]"
    return {**about(hit.turn), **place, "role": hit.turn.meta.role, "text": text}


def _quote_entry(entry: Entry, begins: str) -> dict[str, Any]:
    conversation = entry.conversation
    facts = {"headish": conversation.name or conversation.turn, "last": entry.time.isoformat(timespec="seconds")}
    title = mask(conversation.record.title) or begins
    return {
        **facts,
        **({"title": title} if title else {}),
        "tags": list(conversation.record.tags),
        "turns": entry.turns,
        "model": entry.model,
    }


def _limited(found: Sequence[object]) -> dict[str, int]:
    """Report that only the first ``LOOKED_AT`` were checked, if there may be others."""
    return {"looked_at_the_first": LOOKED_AT} if len(found) == LOOKED_AT else {}
