"""A session service of Google ADK in headish: one turn for each event, objects for state."""

# The framework is installed in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import defaultdict
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

from headish import ReadTransaction, Store, WriteTransaction
from headish.adapters import sessions
from headish.adapters.healing import heal_text
from headish.adapters.hiding import check_erase, erases
from headish.adapters.holding import DatabaseHold, Db
from headish.aio import finish
from headish.integrations.adk import records
from headish.integrations.adk.events import dump_event, events_of, make_event_draft
from headish.integrations.adk.records import (
    SessionPlace,
    SessionRecord,
    find_record,
    find_values,
    merge_state,
    put_values,
    split_state,
)

T = TypeVar("T")
_LOCKS = 64
_SUM_DIGITS = 16
STALE = "Session {} was changed by another writer since it was read: get it anew, and append again."


class HeadishSessionService(BaseSessionService):
    """The sessions of agents, for ``Runner(session_service=…)``.

    Each session is a conversation: its bookmark and ``key`` are ``adk/APP/USER/SESSION``. ``db`` is a path, a URL or an
    open ``Database``; ``":memory:"`` belongs to this object alone. ``space`` is the space of the database.

    ``delete_session`` *erases* the content of the session. With ``erase=False`` it hides: the turns stay in the
    database.

    A session object is stale if another writer has continued the session: then ``append_event`` raises
    ``StaleSessionError`` and stores nothing. An event that arrives twice is stored once. When a caller learns that its
    call was cancelled, the call has ended. Raises: AdapterClosed (a RuntimeError) after ``close``; as
    ``Database.open``.
    """

    def __init__(self, db: Db = ":memory:", *, erase: bool | None = None, space: str = "default") -> None:
        self._erase = check_erase(erase)
        self._held = DatabaseHold(db, type(self).__name__, space)
        # Branches of one run share a session, and append to it at the same time.
        # With the process id: a thread that is not in a forked child may have held the parent's.
        self._locks = defaultdict[tuple[int, int], threading.Lock](threading.Lock)

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Make a session; without ``session_id`` it gets a new id. Raises: AlreadyExistsError."""
        wanted_id = session_id.strip() if session_id else ""
        return await self._run(_create, SessionPlace(app_name, user_id, wanted_id or str(uuid.uuid4())), state)

    async def begin_session(
        self,
        *,
        app_name: str,
        user_id: str,
        headish: str,
        session_id: str | None = None,
        state: dict[str, Any] | None = None,
    ) -> Session:
        """Make a session that begins with a thread of headish: a branch, an edit, an import. Both share its turns, and
        each continues by itself. Raises: AlreadyExistsError; UnknownTurn, Ambiguous, InvalidHeadish."""
        wanted_id = session_id.strip() if session_id else ""
        place = SessionPlace(app_name, user_id, wanted_id or str(uuid.uuid4()))
        await self._run(_create, place, state, headish)
        return await self._run(_get, place, None)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A session with its events, or with those that ``config`` chooses; None if there is none."""
        return await self._run(_get, _place(app_name, user_id, session_id), config)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of an app, or of one of its users, without events, ordered by their last change."""
        return await self._run(_list, app_name, user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session, if it exists. Its content is erased, unless ``erase=False``."""
        erase = erases(self._erase, "HeadishSessionService", "delete_session", deletes=True)
        await self._run(_delete, _place(app_name, user_id, session_id), erase)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """The state of a user of an app, with keys without their prefix."""
        return await self._run(_user_state, SessionPlace(app_name, user_id, ""))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event together with its changes of the state. A partial event is not stored.

        Raises: SessionNotFoundError, StaleSessionError.
        """
        self._held.check()
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        return await finish(self._append, session, self._trim_temp_delta_state(event))

    async def close(self) -> None:
        """Release the database. Other objects on its file are not affected; a second call does nothing."""
        self._held.close()

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        self._held.check()
        return await finish(self._work, work, *arguments)

    def _work(self, work: Callable[..., T], *arguments: Any) -> T:
        with self._held.use() as store:
            return work(store, *arguments)

    def _append(self, session: Session, event: Event) -> Event:
        place = SessionPlace(session.app_name, session.user_id, session.id)
        # Until the session object is changed, too: the next event is compared with its marker.
        with self._locks[os.getpid(), hash(place) % _LOCKS], self._held.use() as store:
            record = _append(store, place, session, event)
            if record is None:
                return event
            session.last_update_time, session._storage_update_marker = record.updated, record.marker
            return self._commit_event_to_session(session, event)


def _place(app_name: str, user_id: str, session_id: str) -> SessionPlace:
    return SessionPlace(app_name, user_id, session_id.strip() if session_id else session_id)


def _thread(place: SessionPlace) -> sessions.NamedSession:
    return sessions.session_of(f"adk/{place.key}")


def _create(store: Store, place: SessionPlace, state: dict[str, Any] | None, headish: str | None = None) -> Session:
    deltas, now = split_state(state), time.time()
    app, user, id = (heal_text(each)[0] for each in place)
    record = SessionRecord(app, user, id, deltas.session, now, now)

    def work(write: WriteTransaction) -> Session:
        if find_record(write, place) is not None:
            raise AlreadyExistsError(f"Session with id {place.id} already exists.")
        thread = _thread(place)
        if headish is not None:
            if sessions.find_session(write, thread) is not None:
                raise AlreadyExistsError(f"Session with id {place.id} already exists.")
            write.begin(thread.name, headish, key=thread.key, app=thread.app)
        write.put(records.SESSION, place.key, records.encode(record))
        put_values(write, place, deltas)
        return _session(place, record, *_states(write, place))

    return store.write(work)


def _append(store: Store, place: SessionPlace, session: Session, event: Event) -> SessionRecord | None:
    """Store an event. Returns the new record; None if the event is the last one already."""
    draft, deltas = make_event_draft(event, store.payload_limit_bytes), split_state(event.actions.state_delta)
    # The id alone does not tell: an event may be changed and sent again under the same one.
    sum = blake3(records.encode(dump_event(event)[0])).hexdigest()[:_SUM_DIGITS]

    def work(write: WriteTransaction) -> SessionRecord | None:
        record = find_record(write, place)
        if record is None:
            raise SessionNotFoundError(f"Session {place.id} not found.")
        if (record.last, record.sum) == (event.id, sum):
            return None  # delivered twice
        if not _is_fresh(session, record):
            raise StaleSessionError(STALE.format(place.id))
        record = msgspec.structs.replace(
            record,
            state=record.state | deltas.session,
            updated=event.timestamp,
            changes=record.changes + 1,
            last=event.id,
            sum=sum,
        )
        sessions.extend(write, _thread(place), [draft])
        write.put(records.SESSION, place.key, records.encode(record))
        put_values(write, place, deltas)
        return record

    return store.write(work)


def _is_fresh(session: Session, record: SessionRecord) -> bool:
    """Whether nobody else has continued a session since it was read."""
    if session._storage_update_marker is not None:
        return bool(session._storage_update_marker == record.marker)
    # No service made this object, or one without markers did: times or the last event must do.
    last = session.events[-1].id if session.events else None
    return bool(record.updated <= session.last_update_time or last == record.last)


def _get(store: Store, place: SessionPlace, config: GetSessionConfig | None) -> Session | None:
    def work(read: ReadTransaction) -> tuple[SessionRecord, records.Values, records.Values] | None:
        record = find_record(read, place)
        return None if record is None else (record, *_states(read, place))

    # Record first, then events, in two transactions: an event in between makes the session stale, which
    # ``append_event`` notices. The other order would lose that event unnoticed.
    found = store.read(work)
    if found is None:
        return None
    after = None if config is None else config.after_timestamp
    recent = None if config is None else config.num_recent_events
    # The limit counts events that pass the filter of time, so with one all are read.
    events = _events(store, place, None if after else recent)
    if after:
        events = [each for each in events if each.timestamp >= after]
        events = events if recent is None else events[max(0, len(events) - recent) :]
    session = _session(place, *found)
    session.events = events
    return session


def _list(store: Store, app_name: str, user_id: str | None) -> ListSessionsResponse:
    place = SessionPlace(app_name, user_id or "", "")
    prefix = f"{place.app_key if user_id is None else place.user_key}/"

    def work(read: ReadTransaction) -> list[Session]:
        states: dict[str, tuple[records.Values, records.Values]] = {}
        found: list[Session] = []
        for each in read.objects(records.SESSION, prefix):
            record = records.read_record(each.data)
            place = SessionPlace(record.app, record.user, record.id)
            if place.user_key not in states:
                states[place.user_key] = _states(read, place)
            found.append(_session(place, record, *states[place.user_key]))
        return found

    found = store.read(work)
    return ListSessionsResponse(sessions=sorted(found, key=lambda each: (each.last_update_time, each.user_id, each.id)))


def _delete(store: Store, place: SessionPlace, erase: bool) -> None:
    def work(write: WriteTransaction) -> None:
        if write.remove(records.SESSION, place.key):
            sessions.take_out(write, _thread(place), erase=erase)

    store.write(work)


def _user_state(store: Store, place: SessionPlace) -> records.Values:
    return store.read(lambda read: find_values(read, records.USER, place.user_key))


def _states(read: ReadTransaction, place: SessionPlace) -> tuple[records.Values, records.Values]:
    app = find_values(read, records.APP, place.app_key)
    return app, find_values(read, records.USER, place.user_key)


def _session(place: SessionPlace, record: SessionRecord, app: records.Values, user: records.Values) -> Session:
    session = Session(
        id=place.id,
        app_name=place.app,
        user_id=place.user,
        state=merge_state(app, user, record.state),
        last_update_time=record.updated,
    )
    session._storage_update_marker = record.marker
    return session


def _events(store: Store, place: SessionPlace, limit: int | None) -> list[Event]:
    messages = sessions.read_messages(store, _thread(place), limit)
    events = [event for kept, app in messages for event in events_of(kept, app)]
    return events if limit is None else events[max(0, len(events) - limit) :]
