"""The objects that ADK needs beside events: the record of a session, and the states of an app and of a user."""

# The framework is installed in an environment of its own, which the type checker does not see.
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
    """The place of an ADK session: its app, its user, and its id."""

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
    """The record of a session. ``state`` is its own state, ``changes`` counts its events, ``last`` is the id of the
    last event, and ``sum`` a hash of that event."""

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
        """A text that is different after each change."""
        return f"{self.created!r}/{self.changes}"


class StateDeltas(NamedTuple):
    """A change of state by scope, with keys without prefixes. Keys that begin with ``temp:`` are in none."""

    app: Values
    user: Values
    session: Values


encode = msgspec.json.Encoder().encode
"""Encodes a record or a state as JSON."""
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
    stored = read.object(SESSION, place.key)
    return None if stored is None else read_record(stored.data)


def find_values(read: ReadTransaction, kind: str, key: str) -> Values:
    """The state of an app or a user; empty if there is none."""
    stored = read.object(kind, key)
    return {} if stored is None else read_values(stored.data)


def put_values(write: WriteTransaction, place: SessionPlace, deltas: StateDeltas) -> None:
    """Apply a change to the states of the app and the user, and store them."""
    for kind, key, delta in ((APP, place.app_key, deltas.app), (USER, place.user_key, deltas.user)):
        if delta:
            write.put(kind, key, encode({**find_values(write, kind, key), **delta}))


def split_state(state: Values | None) -> StateDeltas:
    """Split a change of state by scope. Values that JSON cannot express become text, and lone surrogates are
    replaced."""
    # Healed before, since Pydantic refuses a lone surrogate in a key; and after, since it mends none in a value.
    plain, _ = heal(to_jsonable_python(heal(state or {})[0], serialize_unknown=True))
    deltas = StateDeltas({}, {}, {})
    for key, value in plain.items():
        if key.startswith(State.APP_PREFIX):
            deltas.app[key.removeprefix(State.APP_PREFIX)] = value
        elif key.startswith(State.USER_PREFIX):
            deltas.user[key.removeprefix(State.USER_PREFIX)] = value
        elif not key.startswith(State.TEMP_PREFIX):
            deltas.session[key] = value
    return deltas


def merge_state(app: Values, user: Values, session: Values) -> Values:
    """The state that an agent sees: all scopes, those of app and user with their prefixes."""
    prefixed = {State.APP_PREFIX + key: value for key, value in app.items()}
    return session | prefixed | {State.USER_PREFIX + key: value for key, value in user.items()}


def _escape(part: str) -> str:
    """A part of a key without slashes, which separate parts. A long one is cut, and followed by its hash."""
    text = _UNSAFE.sub(lambda match: f"={ord(match[0]):x};", part)
    if len(text.encode()) <= _PART_BYTES:
        return text
    cut = text.encode()[: _PART_BYTES // 2].decode(errors="ignore")
    return f"{cut}=-{blake3(part.encode(errors='surrogatepass')).hexdigest()[:_HASH_DIGITS]}"
