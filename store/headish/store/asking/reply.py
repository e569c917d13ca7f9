"""Verbs for replies: a whole one stored at once, or an answer captured while it arrives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.errors import InputError, InvalidArgument, UnknownStream, Unrepresentable
from headish.history.definitions import pointer_named, tools_served
from headish.history.reading.options import fold_options, param_of
from headish.history.reading.walk import walk_inherited
from headish.history.writing.append import Appended, Written
from headish.history.writing.replies import Pinned, pin_headishes, write_reply
from headish.providers.pointers import Pointer
from headish.providers.registry import check_provider
from headish.providers.shared.tools import may_be_rewritten
from headish.providers.shared.values import Reply, Request
from headish.rows import streams
from headish.rows.streams import FINISHED, StoredStream
from headish.rows.turns import StoredTurn, turn_by_id
from headish.store.answers.journal import LEASE_SECONDS, About, Journal
from headish.store.asking.request import request, usable_pointer
from headish.store.space import Headishes, Space
from headish.store.writing.add import store_draft
from headish.values.blocks import ToolUse
from headish.values.checks.doors import an, door
from headish.values.grammar import parse_headishes
from headish.values.ids import Mint, TurnId
from headish.values.limits import INLINE_BYTES
from headish.values.names import stored_name
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.store.answers.capture import Capture

Asked = Headishes | Request
"""What a reply continues: a headish, or the request that was sent (which pinned its turns)."""
Response = bytes | str | Mapping[str, Any] | Iterable[Any]


@door()
def reply(space: Space, headish: Asked, provider: str, response: Response) -> Turn:
    """Store a reply as the assistant turn that continues a headish; its bookmark moves along.

    ``response`` is a whole response (a mapping, an SDK's object, JSON text) or a stream (the text of server-sent
    events, JSON lines, or an iterable of events). A stream that stops before its end becomes an incomplete turn.
    ``turn.meta.reply`` keeps the model, stop reason and usage beside it.
    Raises: InvalidReply for text that is neither, and for an empty response; UnknownTurn, UnknownFormat.
    """
    from headish.store.answers.reading import read_response  # late: most processes store no reply

    about = _writable_about(space, headish, provider)
    return _store_reply(space, headish, about, read_response(about, response))


class StreamedReply:
    """``reply`` for events that come one by one: ``add`` each, then ``finish``. So asyncio can read them without a
    thread that waits for them."""

    def __init__(self, space: Space, headish: Asked, provider: str) -> None:
        from headish.store.answers.reading import open_stream  # late, as above

        self._space, self._headish = space, headish
        self._about = _writable_about(space, headish, provider)
        self._stream = open_stream(self._about)
        self._is_empty = True

    def add(self, event: Any) -> None:
        """Take an event. Raises: InvalidArgument if it is not one."""
        self._stream.feed(event)
        self._is_empty = False

    def finish(self) -> Turn:
        """Store the reply. Raises: InvalidReply if there was no event."""
        from headish.store.answers.reading import no_answer

        if self._is_empty:
            raise no_answer(self._about)
        return _store_reply(self._space, self._headish, self._about, self._stream.finish())


@door(replaces=an(Turn))
def capture(
    space: Space, headish: Asked, provider: str, *, replaces: Turn | None = None, lease_seconds: float = LEASE_SECONDS
) -> Capture:
    """Begin to store an answer that arrives event by event: ``feed`` each, then ``finish``.

    What was fed is journalled while it arrives: if the process dies, ``store.streams.recover`` makes an incomplete turn
    of it once the lease has run out. ``replaces`` is an earlier reply: a bookmark that points there moves to this one.
    """
    from headish.store.answers.capture import Capture  # late, as above

    is_request = isinstance(headish, Request)
    about = _writable_about(space, headish, provider)
    if replaces is not None:
        about = replace(about, replaces=replaces.id, bookmark=about.bookmark or replaces.meta.bookmark)
    encoded = msgspec.json.encode(about)
    journal = Journal(space._open_backend(), space._number, space._database.mint(), encoded, lease_seconds)

    def store(about: About, reply: Reply, stream: TurnId) -> Turn:
        return _finish(space, about, reply if is_request else with_own_names(space, about, reply), stream)

    return Capture(about, journal, store, space._payload_limit_bytes)


def _writable_about(space: Space, headish: Asked, provider: str) -> About:
    """Find what a reply belongs to. Raises: ReadOnly if it could not be stored."""
    space._check_writable()
    if isinstance(headish, Request):
        return _request_about(headish, provider)
    return _asked_about(space, headish, provider)


def _store_reply(space: Space, headish: Asked, about: About, read: Reply) -> Turn:
    from headish.store.answers.reading import reply_draft  # late, as above

    named = read if isinstance(headish, Request) else with_own_names(space, about, read)
    draft = reply_draft(about, named, space._payload_limit_bytes)
    return store_draft(space, draft, _left_name(space, about, draft), partial(append_reply, space, about, draft))


def _request_about(asked: Request, provider: str) -> About:
    """Find what the reply to a request belongs to."""
    check_provider(provider)
    if asked.provider != provider or not asked.turns:
        raise InvalidArgument(f"the request was not made by a store for {provider}")
    return About.of_request(asked)


def _asked_about(space: Space, headish: Headishes, provider: str) -> About:
    """Find what a reply to a headish belongs to, from the thread's options alone: its messages are not read."""
    check_provider(provider)
    listed = parse_headishes(headish)
    if not listed:
        raise InvalidArgument("a reply continues a headish, or several")

    def work(connection: Connection) -> tuple[Pinned, list[tuple[str, bytes]]]:
        places, pinned = pin_headishes(connection, space._number, listed)
        return pinned, walk_inherited(connection, space._number, places)

    pinned, inherited = space._read(work)
    about = About(provider=provider, turns=pinned.turns, bookmark=pinned.bookmark)
    return _with_options(space, about, fold_options(inherited)) if inherited else about


def _with_options(space: Space, about: About, options: Mapping[str, Any]) -> About:
    """Add to what a reply belongs to what the thread's options say: pointer, model, schema and the names of its
    tools."""
    from headish.providers.preparing import rewritten_names  # late, as above

    def work(connection: Connection) -> tuple[bytes | None, Pointer | None, list[Mapping[str, Any]]]:
        return *_known_pointer(connection, space, options, about.provider), _known_tools(connection, space, options)

    ptr, pointer, tools = space._read(work)
    model, schema = param_of(options, "model"), param_of(options, "schema")
    about = replace(
        about,
        model=pointer.model if pointer else model if isinstance(model, str) else None,
        ptr=ptr.decode() if ptr and pointer else None,
        dialect=pointer.spelling if pointer else None,
        schema=dict(schema) if isinstance(schema, Mapping) else None,
    )
    try:
        return replace(about, tool_names=rewritten_names(about.provider, options, tools))
    except (InputError, Unrepresentable):
        return about  # no request could be made of it now, but an answer came all the same


def _known_pointer(
    connection: Connection, space: Space, options: Mapping[str, Any], provider: str
) -> tuple[bytes | None, Pointer | None]:
    try:
        ptr = pointer_named(options)
        return ptr, None if ptr is None else usable_pointer(connection, space._number, ptr, provider)
    except InputError:  # an imported thread may name a pointer that is not here
        return None, None


def _known_tools(connection: Connection, space: Space, options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    try:
        return tools_served(connection, space._number, options.get("servers"))
    except InputError:  # an imported thread may name servers that are not here
        return []


def with_own_names(space: Space, about: About, reply: Reply) -> Reply:
    """Give the calls of a reply the names that the thread knows.

    The reader knew the names of the thread's current tools. Names that only earlier calls have are in the thread's
    messages, which are read only if the request may have rewritten the name of a call.
    """
    # To know the names, the request has to be made again, which takes a walk. Most names go out as they are.
    if not any(isinstance(block, ToolUse) and may_be_rewritten(block.name) for block in reply.content):
        return reply
    try:
        names = request(space, list(about.turns), about.provider).tool_names
    except (InputError, Unrepresentable):
        return reply
    content = tuple(
        replace(block, name=names.get(block.name, block.name)) if isinstance(block, ToolUse) else block
        for block in reply.content
    )
    return replace(reply, content=content)


def _finish(space: Space, about: About, reply: Reply, stream: TurnId) -> Turn:
    """Store the turn of an answer that has ended; a second call returns the same turn."""
    from headish.store.answers.reading import fitting_draft

    draft = fitting_draft(about, reply, space._payload_limit_bytes)

    def work(connection: Connection, mint: Mint) -> Appended | StoredTurn:
        locked = streams.lock_stream(connection, space._number, stream)
        if locked is not None and locked.outcome == FINISHED:
            return _stored(connection, space, locked)
        # The journal goes first: on SQLite the turn then takes its pages, and the file holds the answer only once.
        streams.remove_journal(connection, space._number, stream)
        behind = _behind(connection, space, about, locked)
        appended = append_reply(space, behind, draft, connection, mint).built[0]
        if locked is not None:
            streams.close_stream(connection, space._number, locked.id, FINISHED, appended.turn.id)
        return appended

    return space._as_turn(space._store(work))


def _behind(connection: Connection, space: Space, about: About, found: StoredStream | None) -> About:
    """Find what an answer belongs to. If its lease ran out while it arrived, it replaces its own half, which was
    recovered."""
    recovered = None if found is None or found.outcome is None or found.turn is None else found.turn
    half = None if recovered is None else turn_by_id(connection, space._number, recovered)
    if half is None:
        return about
    return replace(about, replaces=half.id, bookmark=stored_name(half.head) if half.head else about.bookmark)


def _left_name(space: Space, about: About, draft: Draft) -> bytes | None:
    """The bookmark of an answer, if this store left it at the turn that is answered and the answer fits into its turn's
    row; else None. Only then the short way of an append can be taken."""
    if about.bookmark is None or space._remembered is None or len(draft.payload) > INLINE_BYTES:
        return None
    name = about.bookmark.encode()
    remembered = space._remembered.names.get(name)
    return name if remembered is not None and (remembered.id,) == about.turns else None


def append_reply(space: Space, about: About, draft: Draft, connection: Connection, mint: Mint) -> Written:
    """Append a reply behind the turns that it belongs to."""
    return write_reply(connection, space._number, draft, about.turns, about.bookmark, about.replaces, mint)


def _stored(connection: Connection, space: Space, ended: StoredStream) -> StoredTurn:
    """The turn of a stream that was finished before: the answer to the first commit was lost."""
    turn = None if ended.turn is None else turn_by_id(connection, space._number, ended.turn)
    if turn is None:
        raise UnknownStream(ended.id)
    return turn
