"""``store.conversations``: titles, tags and other records of conversations (rule R33, conversations)."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType

from headish.database.query import Connection
from headish.errors import InvalidArgument, shown
from headish.history.conversations.entries import leave_out_gone, make_entries
from headish.history.conversations.records import ListedConversation, read_conversation
from headish.rows.threads.entries import NEWEST, Listed, find_beginnings, list_named
from headish.store.paging import check_limit
from headish.store.space import SpacePart
from headish.values.checks.doors import COUNT_LIMIT, door
from headish.values.names import Absent
from headish.values.results.conversations import Conversation, Entry, Filter, Page
from headish.values.times import bound_of, read_moment

LIMIT = 1000
"""The most entries of a page."""
LOOKED_AT = 8
"""How many chains a page looks at for each conversation without a name that it has room for."""
BEHIND_NAMES = f"c{NEWEST}"
"""The ``after`` of the conversations without a bookmark."""
_CURSOR = r"(n)(\d{1,19})\.((?:[0-9a-f]{2})*)|(c)(\d{1,19})"


class Conversations(SpacePart):
    """The conversations of a space: each bookmark, and everything without one that grew from a first turn.

    A first turn is the first one of a thread that is neither system nor developer. The record of a conversation (title,
    tags and so on) is not a turn: an append does not touch it. It goes with a bookmark that is renamed, and to the
    first bookmark that a nameless conversation gets. If a removed bookmark is made again, it has its record again.
    """

    @door()
    def get(self, subject: str) -> Conversation:
        """The conversation of a bookmark, or of a turn that a headish names.

        Raises: UnknownTurn, UnknownConversation for a turn that only system turns lead to; InvalidArgument if the
        conversation of a turn has several bookmarks.
        """
        return self._read(_finder(subject))

    @door()
    def find(self, key: str) -> Conversation:
        """The conversation that has this key. Raises: UnknownConversation, InvalidArgument."""
        from headish.history.conversations.saying import check_key
        from headish.history.conversations.subjects import find_by_key

        checked = (check_key(key) or "").encode()
        return self._read(lambda connection, space: find_by_key(connection, space, checked))

    @door()
    def parts(self, key: str, *, limit: int = 100) -> builtins.list[Conversation]:
        """The conversations that are parts of the one with this key, such as the sub-agents of a session: those whose
        keys are ``KEY:…``, in the order of their keys.

        Cost: one statement, and three for each. Raises: InvalidArgument.
        """
        check_limit(limit, LIMIT)
        from headish.history.conversations.saying import check_key
        from headish.history.conversations.subjects import find_parts

        checked, space = (check_key(key) or "").encode(), self._space

        def work(connection: Connection) -> builtins.list[Conversation]:
            subjects = find_parts(connection, space._number, checked, limit)
            return [read_conversation(connection, space._number, each) for each in subjects]

        return space._read(work)

    @door()
    def set(
        self,
        subject: str,
        *,
        title: str | UnsetType | None = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        archived: bool | UnsetType = UNSET,
        pinned: bool | UnsetType = UNSET,
        key: str | UnsetType | None = UNSET,
        app: Mapping[str, Any] | UnsetType | None = UNSET,
        expect: int | Absent | None = None,
    ) -> Conversation:
        """Change the record of a conversation; fields that are left out stay as they are. ``subject`` is that of
        ``get``.

        ``title``: at most 1,000 characters; None removes it. ``tags``: all of them. ``archived``: lists leave it out.
        ``pinned``: lists can show only pinned ones. ``key``: the name that another system has for it, unique in the
        space. ``app``: the application's own. ``expect`` is the revision that is replaced, or ``ABSENT`` if there must
        be no record yet.
        Raises: as ``get``; RecordChanged, KeyTaken, InvalidArgument, InvalidContent.
        """
        from headish.history.conversations.changing import change_record
        from headish.history.conversations.saying import check_changes

        find = _finder(subject)
        fields = {"title": title, "tags": tags, "archived": archived, "pinned": pinned, "key": key, "app": app}
        changes = check_changes(fields)
        if (
            expect is not None
            and not isinstance(expect, Absent)
            and (type(expect) is not int or not 0 < expect <= COUNT_LIMIT)
        ):
            raise InvalidArgument(f"expect takes the revision of a conversation or ABSENT, not {shown(expect)}")
        space = self._space

        def work(connection: Connection) -> Conversation:
            return change_record(connection, space._number, find(connection, space._number), changes, expect)

        def settle(connection: Connection, done: Conversation) -> bool:
            return read_conversation(connection, space._number, find(connection, space._number)) == done

        return space._write(work, settle)

    @door()
    def list(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
        archived: bool | None = False,
        pinned: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        names: str | None = None,
        tag: str | None = None,
        model: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        erased: bool = False,
        twins: bool = False,
    ) -> Page:
        """A page of conversations: bookmarks, the last moved first, then those without one, the newest first.

        ``archived`` and ``pinned`` choose those that are, those that are not, or with None both. ``since`` and
        ``until`` choose by ``Entry.time``, and take what ``log`` takes. ``names`` and ``model`` are patterns such as
        ``work/*``; no conversation without a bookmark has a name. ``tag`` is one of its tags, ``role`` that of its last
        turn. ``tool`` is one that is called on the way to a bookmark, or anywhere in a conversation without one, by the
        search index. ``after`` is that of the page before. ``erased`` also shows conversations of which nothing is
        left, ``twins`` those without a name that came from another store and repeat one of here. A page may have fewer
        entries than ``limit``, even none, and more may follow: the end is where its ``after`` is None.
        Cost: six statements, and one more for each 64 entries; a step for each fork on the way to an entry. For each
        entry without a bookmark eight chains are looked at; and every bookmark, unless each of these chains ends with a
        turn whose name moved along with it. With ``tool``, a few statements are run for each entry, and turns that use
        it are looked for between the newest and the oldest of the page.
        Raises: InvalidArgument.
        """
        check_limit(limit, LIMIT)
        before, chain = _read_cursor(after)
        start, end = read_moment(since, "since"), read_moment(until, "until", ends=True)
        chosen = Filter(since=start, until=end, names=names, tag=tag, model=model, role=role)
        if before is not None and end is not None:
            # Names are listed by their last move, so those that moved after `until` can be passed over.
            before = min(before, (bound_of(end), b""))
        space = self._space
        if tool is not None:
            from headish.store.reading.search import bring_up_to_date  # late: most lists need no index

            bring_up_to_date(space)

        def work(connection: Connection) -> Page:
            number, flags = space._number, {"archived": archived, "pinned": pinned}

            def take(entries: Iterable[Entry]) -> tuple[Entry, ...]:
                return _taken(connection, number, chosen, tool, entries)

            listed = list_named(connection, number, before=before, limit=limit, **flags) if before else []
            left_of = listed if erased else leave_out_gone(connection, number, listed)
            entries = make_entries(connection, number, left_of)
            # The list goes by recency, so nothing further down is as new as `since`.
            is_past = start is not None and bool(entries) and entries[-1].time < start
            if len(listed) == limit and not is_past:
                cursor = f"n{listed[-1].recent}.{(listed[-1].name or b'').hex()}"
                return Page(take(entries), cursor)
            # Conversations without a name cannot match a pattern for names.
            if names is not None:
                return Page(take(entries), None)
            if len(listed) == limit:
                return Page(take(entries), f"c{NEWEST}")
            left_of, lowest = _nameless(
                connection, number, before=chain, limit=limit - len(listed), erased=erased, twins=twins
            )
            entries += [each for each in make_entries(connection, number, left_of) if _is(each.conversation, **flags)]
            return Page(take(entries), None if lowest is None else f"c{lowest}")

        return space._read(work)

    def _read(self, find: Callable[[Connection, int], ListedConversation]) -> Conversation:
        space = self._space
        return space._read(
            lambda connection: read_conversation(connection, space._number, find(connection, space._number))
        )


def _finder(subject: str) -> Callable[[Connection, int], ListedConversation]:
    """Return a function that finds the conversation of a headish. The imports are late: lists do not need them."""
    from headish.history.conversations.subjects import find_conversation
    from headish.values.grammar import parse_headish

    parsed = parse_headish(subject)
    return lambda connection, space: find_conversation(connection, space, parsed)


def _nameless(
    connection: Connection, space: int, *, before: int, limit: int, erased: bool, twins: bool
) -> tuple[list[Listed], int | None]:
    """The conversations without a name below a chain, and the last chain that was looked at; None if all were."""
    begun = find_beginnings(connection, space, before=before, window=LOOKED_AT * limit)
    if not begun.places:
        return [], begun.lowest
    from headish.history.conversations.nameless import read_nameless  # late: where all have names there are none

    return read_nameless(connection, space, begun, limit, erased=erased, twins=twins)


def _is(conversation: Conversation, *, archived: bool | None, pinned: bool | None) -> bool:
    record = conversation.record
    return archived in (None, record.archived) and pinned in (None, record.pinned)


def _taken(
    connection: Connection, space: int, chosen: Filter, tool: str | None, entries: Iterable[Entry]
) -> tuple[Entry, ...]:
    """The entries that the filters choose."""
    taken = tuple(filter(chosen.takes, entries))
    if tool is None:
        return taken
    from headish.history.searching.uses import subjects_with

    using = subjects_with(connection, space, tool, [entry.conversation for entry in taken])
    return tuple(entry for entry in taken if entry.conversation.subject in using)


def _read_cursor(after: object) -> tuple[tuple[int, bytes] | None, int]:
    """Read the beginning of a page: a place among the names (None: all names were given), and a chain for conversations
    without a name."""
    if after is None:
        return (NEWEST, b""), NEWEST
    match = re.fullmatch(_CURSOR, after, re.ASCII) if isinstance(after, str) else None
    number = int(match[2] or match[5]) if match else NEWEST + 1
    if match is None or number > NEWEST:
        raise InvalidArgument(f"after is what a page of this list gave as its own, not {shown(after)}")
    return ((number, bytes.fromhex(match[3])), NEWEST) if match[1] else (None, number)
