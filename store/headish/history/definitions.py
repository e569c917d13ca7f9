"""Read definitions as values: the provider pointers of a space, and the tools of its servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from headish.content import strictjson
from headish.content.hashes import hash_payload
from headish.database.query import Connection, Row
from headish.errors import (
    CorruptRecord,
    InvalidArgument,
    InvalidName,
    UnknownPointer,
    UnknownServer,
    did_you_mean,
    shown,
)
from headish.history.reading.decode import read_time
from headish.providers.pointers import NamedPointer, Pointer, decode_pointer
from headish.providers.shared.tools import served_tools
from headish.rows.definitions import DEFAULT, POINTER, TOOLS, find_definition, list_definitions
from headish.values.limits import NAMES_COMPARED
from headish.values.names import check_name, stored_name

ToolList = list[dict[str, Any]]


def find_pointer(connection: Connection, space: int, name: bytes) -> Pointer:
    """The provider pointer of a name. Raises: UnknownPointer, CorruptRecord."""
    row = find_definition(connection, space, POINTER, name)
    if row is None:
        raise unknown_pointer(connection, space, name)
    return read_pointer(row)


def unknown_pointer(connection: Connection, space: int, name: bytes) -> UnknownPointer:
    """The error for a name that is not a provider pointer, with the names that may have been meant."""
    return UnknownPointer(stored_name(name), _similar(connection, space, POINTER, name))


def _similar(connection: Connection, space: int, kind: str, name: bytes) -> str:
    names = (stored_name(each[0]) for each in list_definitions(connection, space, kind))
    return did_you_mean(stored_name(name), islice(names, NAMES_COMPARED))


def find_tools(connection: Connection, space: int, server: bytes) -> ToolList:
    """The tools of a server, as they were stored. Raises: UnknownServer, CorruptRecord."""
    row = find_definition(connection, space, TOOLS, server)
    if row is None:
        raise unknown_server(connection, space, server)
    return read_tool_list(row)


def unknown_server(connection: Connection, space: int, server: bytes) -> UnknownServer:
    """The error for a server whose tools are not stored, with those that may have been meant."""
    return UnknownServer(stored_name(server), _similar(connection, space, TOOLS, server))


def tools_served(connection: Connection, space: int, servers: Any) -> list[Mapping[str, Any]]:
    """The tools that the option ``servers`` offers, under the names that go out. Cost: one statement for each server.

    Raises: InvalidArgument if the option is not a list of names; UnknownServer.
    """
    return [tool for name, tools in _listed(connection, space, servers) for tool in served_tools(name, tools)]


def known_tools(connection: Connection, space: int, servers: Any) -> list[Mapping[str, Any]]:
    """``tools_served`` for a thread that only tells of them: an imported one may name servers that are not here."""
    try:
        return tools_served(connection, space, servers)
    except (UnknownServer, InvalidArgument):
        return []


def read_pointer(row: Row) -> Pointer:
    """The pointer of a row. Raises: CorruptRecord."""
    try:
        return decode_pointer(_data(row, "provider pointer"))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord(f"the provider pointer {stored_name(row[0])!r}", f"it does not decode ({error})") from None


def find_default(connection: Connection, space: int) -> str | None:
    """The pointer for threads that have none of their own; None if there is no default. Raises: CorruptRecord."""
    row = find_definition(connection, space, DEFAULT, DEFAULT_NAME)
    if row is None:
        return None
    try:
        return msgspec.json.decode(_data(row, "default"), type=dict[str, str])["ptr"]
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError) as error:
        raise CorruptRecord("the default provider pointer", f"it does not decode ({error})") from None


def encode_default(name: str) -> bytes:
    """The stored JSON of a default pointer."""
    return strictjson.encode({"ptr": name})


def pointer_named(options: Mapping[str, Any]) -> bytes | None:
    """The name of the provider pointer in a thread's options; None if they name none."""
    name = options.get("provider_ptr")
    return None if name is None else check_name(name, "provider pointer")


def pointer_as_model(connection: Connection, space: int, model: str | None) -> bytes | None:
    """The name of a pointer that was given as ``model``; None if it is not a pointer of the space.

    Raises: CorruptRecord.
    """
    try:
        name = None if model is None else check_name(model, "provider pointer")
    except InvalidName:
        return None  # "llama3:8b" is a model, and its colon is not allowed in a name
    return name if name is not None and find_definition(connection, space, POINTER, name) is not None else None


def read_named_pointer(row: Row) -> NamedPointer:
    """A row of a pointer's history, with its name and time. Raises: CorruptRecord."""
    # Without a hash the row records a removal.
    pointer = None if row[2] is None else read_pointer(row)
    return NamedPointer(
        stored_name(row[0]), pointer, read_time(row[4], f"the provider pointer {stored_name(row[0])!r}")
    )


def read_tool_list(row: Row) -> ToolList:
    """The tools of a row. Raises: CorruptRecord."""
    try:
        return msgspec.json.decode(_data(row, "tools of the server"), type=list[dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        what = f"the tools of the server {stored_name(row[0])!r}"
        raise CorruptRecord(what, f"they do not decode ({error})") from None


def _listed(connection: Connection, space: int, servers: Any) -> Iterable[tuple[str, ToolList]]:
    if servers is None:
        return []
    if not isinstance(servers, list | tuple) or not all(isinstance(each, str) for each in servers):
        raise InvalidArgument(f"the option servers={shown(servers)}: it is a list of names")
    # Each server once: a request with two tools of one name is refused.
    return [(name, find_tools(connection, space, check_name(name, "server"))) for name in dict.fromkeys(servers)]


DEFAULT_NAME = b"pointer"
"""The only name under the kind ``default``."""


def _data(row: Row, kind: str) -> bytes:
    """The stored bytes, checked against their address."""
    data: bytes | None = row[3]
    if data is None or hash_payload(data) != row[2]:
        raise CorruptRecord(f"the {kind} {stored_name(row[0])!r}", "its payload is missing or disagrees with its hash")
    return data
