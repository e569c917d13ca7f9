"""The objects that are kept beside events: the record of each session, and the state of each app and user."""

# The framework is installed in a separate environment.
# pyright: reportMissingImports=false

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from headish import ReadTransaction, WriteTransaction
from headish.adapters.healing import heal
from headish.errors import CorruptRecord

SESSION, APP, USER = "adk/session", "adk/app-state", "adk/user-state"
_PART_BYTES = 200
_HASH_DIGITS = 32
_UNSAFE = re.compile("[=/\ud800-\udfff]")
Values = dict[str, Any]


class SessionPlace(NamedTuple):
    """The app, user and id that identify a session of ADK."""

    app: str
    user: str
    id: str

    @property
    def app_key(self) -> str:
        return _escape(self.app)

    @property
    def user_key(self) -> str:
        return f"{self.app_key}/{_escape(self.user)}"

    @property
    def key(self) -> str:
        return f"{self.user_key}/{_escape(self.id)}"


class SessionRecord(msgspec.Struct):
    """The stored record of a session. ``state`` is the session's own state, ``changes`` the number of its events,
    ``last`` the id of the last event, and ``sum`` a hash of that event."""

    app: str
    user: str
    id: str
    state: Values
    created: float
    updated: float
    changes: int = 0
    last: str | None = None
    sum: str | None = None

    @property
    def marker(self) -> str:
        """A text that differs after each change."""
        return f"{self.created!r}/{self.changes}"


class StateDeltas(NamedTuple):
    """A change of state by scope, without the prefixes of keys. Keys that begin with ``temp:`` are not stored."""

    app: Values
    user: Values
    session: Values


encode = msgspec.json.Encoder().encode
"""The JSON of a record or a state."""
_decode_record = msgspec.json.Decoder(SessionRecord).decode
_decode_values = msgspec.json.Decoder(Values).decode


def read_record(data: bytes) -> SessionRecord:
    """Decode the record of a session. Raises: CorruptRecord."""
    try:
        return _decode_record(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord("the record of a session of ADK", f"it does not decode ({error})") from None


def read_values(data: bytes) -> Values:
    """Decode a state. Raises: CorruptRecord."""
    try:
        return _decode_values(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord("a state of ADK", f"it does not decode ({error})") from None


def find_record(read: ReadTransaction, place: SessionPlace) -> SessionRecord | None:
    found = read.object(SESSION, place.key)
    return None if found is None else read_record(found.data)


def find_values(read: ReadTransaction, kind: str, key: str) -> Values:
    """The state of an app or a user; empty if none is stored."""
    found = read.object(kind, key)
    return {} if found is None else read_values(found.data)


def put_values(write: WriteTransaction, place: SessionPlace, deltas: StateDeltas) -> None:
    """Apply a change to the stored states of the app and the user."""
    for kind, key, delta in ((APP, place.app_key, deltas.app), (USER, place.user_key, deltas.user)):
        if delta:
            write.put(kind, key, encode({**find_values(write, kind, key), **delta}))


def split_state(state: Values | None) -> StateDeltas:
    """Split a change of state by scope. Values that JSON cannot represent become text; lone surrogates are replaced."""
    # Twice: Pydantic refuses a lone surrogate in a key, and keeps those in the objects that it converts.
    plain, _ = heal(to_jsonable_python(heal(state or {})[0], serialize_unknown=True))
    found = StateDeltas({}, {}, {})
    for key, value in plain.items():
        if key.startswith(State.APP_PREFIX):
            found.app[key.removeprefix(State.APP_PREFIX)] = value
        elif key.startswith(State.USER_PREFIX):
            found.user[key.removeprefix(State.USER_PREFIX)] = value
        elif not key.startswith(State.TEMP_PREFIX):
            found.session[key] = value
    return found


def merge_state(app: Values, user: Values, session: Values) -> Values:
    """The state that an agent sees: all three scopes, with the prefixes of keys."""
    prefixed = {State.APP_PREFIX + key: value for key, value in app.items()}
    return session | prefixed | {State.USER_PREFIX + key: value for key, value in user.items()}


def _escape(part: str) -> str:
    """Escape a part of a key, so that it has no slash; a long one is cut and followed by its hash."""
    text = _UNSAFE.sub(lambda match: f"={ord(match[0]):x};", part)
    if len(text.encode()) <= _PART_BYTES:
        return text
    cut = text.encode()[: _PART_BYTES // 2].decode(errors="ignore")
    return f"{cut}=-{blake3(part.encode(errors='surrogatepass')).hexdigest()[:_HASH_DIGITS]}"
