"""The session service of Google ADK that headish keeps: one turn for each event, objects for state."""

# The framework lies in an environment of its own.
# pyright: reportMissingImports=false

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from blake3 import blake3
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from headish.aio.threads import finish
from headish.content.encoding import decode_payload
from headish.database.query import Connection
from headish.errors import CorruptTurn, InvalidContent
from headish.integrations.adk import records
from headish.integrations.adk.events import events_of, make_event_draft
from headish.integrations.adk.records import Place, Record, find_record, find_values, make_put, merge_state, split_state
from headish.integrations.shared import threads
from headish.integrations.shared.forgetting import check_erase, erases
from headish.integrations.shared.healing import heal, heal_text
from headish.integrations.shared.opening import Db, Held
from headish.rows.objects import Put, find_object
from headish.rows.threads.ranges import SpokenTurn
from headish.store.store import Store
from headish.values.ids import TurnId
from headish.values.messages import Kept, Message

T = TypeVar("T")
_LOCKS = 64
_PAGE = 100
_SUM_DIGITS = 16
STALE = "Session {} was changed by another writer since it was read: get it anew, and append again."
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class HeadishSessionService(BaseSessionService):
    """The sessions of agents, for ``Runner(session_service=…)``.

    Each session is a conversation: its bookmark and ``key`` are ``adk/APP/USER/SESSION``. ``db`` is a path, a URL or an
    open ``Database``; ``":memory:"`` belongs to this object alone. ``space`` is the space of the database.

    ``delete_session`` *erases* what was said. ``erase=False`` makes it hide: what was said stays in the database.

    A session that another writer has gone on with is stale: ``append_event`` raises ``StaleSessionError``, and stores
    nothing. The same event once more is not stored twice. A call that is cancelled is over when its caller learns it.
    Raises: AdapterClosed (a RuntimeError) after ``close``; as ``Database.open``.
    """

    def __init__(self, db: Db = ":memory:", *, erase: bool | None = None, space: str = "default") -> None:
        self._erase = check_erase(erase)
        self._held = Held(db, type(self).__name__, space)
        # Branches of one run share a session, and append to it at the same time.
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Make a session; without an id it gets one. Raises: AlreadyExistsError."""
        given = session_id.strip() if session_id else ""
        return await self._run(_create, Place(app_name, user_id, given or str(uuid.uuid4())), state)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A session with its events, or with those that ``config`` chooses; None where there is none."""
        return await self._run(_get, _place(app_name, user_id, session_id), config)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of an app, or of one user of it, without events, the one that changed last at the end."""
        return await self._run(_list, app_name, user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session; nothing where there is none. What was said goes, unless ``erase=False``."""
        erase = erases(self._erase, "HeadishSessionService", "delete_session", deletes=True)
        await self._run(_delete, _place(app_name, user_id, session_id), erase)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """What is kept for a user of an app, under keys without their prefix."""
        return await self._run(_user_state, Place(app_name, user_id, ""))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event, and what it changes of the state, together; a partial one is not stored.

        Raises: SessionNotFoundError, StaleSessionError.
        """
        self._held.check()
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        return await finish(self._append, session, self._trim_temp_delta_state(event))

    async def close(self) -> None:
        """Let go of the database. Others of its file go on; a second call does nothing."""
        self._held.close()

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        self._held.check()
        return await finish(self._work, work, *arguments)

    def _work(self, work: Callable[..., T], *arguments: Any) -> T:
        with self._held.use() as store:
            return work(store, *arguments)

    def _append(self, session: Session, event: Event) -> Event:
        place = Place(session.app_name, session.user_id, session.id)
        with self._locks[hash(place) % _LOCKS], self._held.use() as store:
            record = _append(store, place, session, event)
            if record is None:
                return event
            session.last_update_time, session._storage_update_marker = record.updated, record.marker
            return self._commit_event_to_session(session, event)


class _Refused(Exception):  # it carries an error of ADK's out of a transaction, or none
    """Nothing is to be stored. ``error`` says why; None where it is there already.

    Some of ADK's errors are ValueErrors, which a transaction takes for damage and looks for.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(error)
        self.error = error


def _place(app_name: str, user_id: str, session_id: str) -> Place:
    return Place(app_name, user_id, session_id.strip() if session_id else session_id)


def _thread(place: Place) -> threads.Session:
    return threads.session_of(f"adk/{place.key}")


def _create(store: Store, place: Place, state: dict[str, Any] | None) -> Session:
    deltas, now = split_state(state), time.time()
    record = Record(heal_text(place.app)[0], heal_text(place.user)[0], heal_text(place.id)[0], deltas.session, now, now)

    def puts(connection: Connection, space: int) -> list[Put]:
        if find_record(connection, space, place) is not None:
            raise _Refused(AlreadyExistsError(f"Session with id {place.id} already exists."))
        made = make_put(records.SESSION, place.key, record)
        return [made, *records.put_values(connection, space, place, deltas)]

    try:
        threads.add(store, _thread(place), [], puts)
    except _Refused as refused:
        raise refused.error or refused from None
    return _session(place, record, *store._read(lambda connection: _states(connection, store._number, place)))


def _append(store: Store, place: Place, session: Session, event: Event) -> Record | None:
    """The record with an event; None where that is the last one already."""
    draft, deltas = make_event_draft(event, store._payload_limit_bytes), split_state(event.actions.state_delta)
    sum = blake3(msgspec.json.encode(heal(event.model_dump(mode="json"))[0])).hexdigest()[:_SUM_DIGITS]
    found: list[Record] = []

    def puts(connection: Connection, space: int) -> list[Put]:
        record = find_record(connection, space, place)
        if record is None:
            raise _Refused(SessionNotFoundError(f"Session {place.id} not found."))
        if (record.last, record.sum) == (event.id, sum):
            raise _Refused  # it is delivered once more
        if not _is_fresh(session, record):
            raise _Refused(StaleSessionError(STALE.format(place.id)))
        record = msgspec.structs.replace(
            record,
            state=record.state | deltas.session,
            updated=event.timestamp,
            changes=record.changes + 1,
            last=event.id,
            sum=sum,
        )
        found[:] = [record]
        made = make_put(records.SESSION, place.key, record)
        return [made, *records.put_values(connection, space, place, deltas)]

    try:
        threads.add(store, _thread(place), [draft], puts)
    except _Refused as refused:
        if refused.error is not None:
            raise refused.error from None
        return None
    return found[0]


def _is_fresh(session: Session, record: Record) -> bool:
    """Whether nobody else went on with a session since it was read."""
    if session._storage_update_marker is not None:
        return bool(session._storage_update_marker == record.marker)
    # An object that no service made, or an older one.
    last = session.events[-1].id if session.events else None
    return bool(record.updated <= session.last_update_time or last == record.last)


def _get(store: Store, place: Place, config: GetSessionConfig | None) -> Session | None:
    def work(connection: Connection) -> tuple[Record, records.Values, records.Values] | None:
        record = find_record(connection, store._number, place)
        return None if record is None else (record, *_states(connection, store._number, place))

    # The record is read first: if an event comes in between, the session is stale, and says so when it is continued.
    found = store._read(work)
    if found is None:
        return None
    after = None if config is None else config.after_timestamp
    recent = None if config is None else config.num_recent_events
    events = _events(store, place, None if after else recent)
    if after:
        events = [each for each in events if each.timestamp >= after]
        events = events if recent is None else events[max(0, len(events) - recent) :]
    session = _session(place, *found)
    session.events = events
    return session


def _list(store: Store, app_name: str, user_id: str | None) -> ListSessionsResponse:
    place = Place(app_name, user_id or "", "")
    prefix = f"{place.app_key if user_id is None else place.user_key}/"
    listed: list[tuple[Place, Record]] = []
    after: str | None = None
    while True:
        page = store.objects.list(records.SESSION, prefix=prefix, after=after, limit=_PAGE)
        for each in page:
            record = records.read_record(each.data)
            listed.append((Place(record.app, record.user, record.id), record))
        if len(page) < _PAGE:
            break
        after = page[-1].key
    places = {each.user_key: each for each, _ in listed}
    states = store._read(
        lambda connection: {key: _states(connection, store._number, each) for key, each in places.items()}
    )
    sessions = [_session(each, record, *states[each.user_key]) for each, record in listed]
    return ListSessionsResponse(
        sessions=sorted(sessions, key=lambda each: (each.last_update_time, each.user_id, each.id))
    )


def _delete(store: Store, place: Place, erase: bool) -> None:
    key = place.key.encode()
    if store._read(lambda connection: find_object(connection, store._number, records.SESSION, key)) is not None:
        threads.drop(store, _thread(place), erase=erase, objects=[(records.SESSION, key)])


def _user_state(store: Store, place: Place) -> records.Values:
    return store._read(lambda connection: find_values(connection, store._number, records.USER, place.user_key))


def _states(connection: Connection, space: int, place: Place) -> tuple[records.Values, records.Values]:
    app = find_values(connection, space, records.APP, place.app_key)
    return app, find_values(connection, space, records.USER, place.user_key)


def _session(place: Place, record: Record, app: records.Values, user: records.Values) -> Session:
    session = Session(
        id=place.id,
        app_name=place.app,
        user_id=place.user,
        state=merge_state(app, user, record.state),
        last_update_time=record.updated,
    )
    session._storage_update_marker = record.marker
    return session


def _events(store: Store, place: Place, limit: int | None) -> list[Event]:
    thread = _thread(place)
    turns = threads.read(store, thread, limit)
    if threads.is_plain(turns) and all(each.type is None for each in turns):
        return [event for each in turns for event in _events_of(each)]
    apps = {each.id: each.app for each in threads.read(store, thread)}
    seen = [
        event
        for kept in threads.see(store, thread)
        for event in events_of(kept, apps.get(kept.message.turn or TurnId("")))
    ]
    return seen if limit is None else seen[max(0, len(seen) - limit) :]


def _events_of(said: SpokenTurn) -> list[Event]:
    if said.payload is None:
        return []
    try:
        system = {} if said.system is None else _decode(said.system)
        return events_of(Kept(Message(role=said.role or None, content=decode_payload(said.payload)), system), said.app)
    except (InvalidContent, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(said.id, str(error)) from None
