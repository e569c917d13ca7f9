"""The part of the door for what providers are asked with: pointers and tools, under names, with their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from headish.content import strictjson
from headish.content.hashes import hash_payload
from headish.database.query import Connection, Row
from headish.errors import CorruptTurn, InvalidArgument, InvalidName, TooLarge, UnknownPointer, UnknownServer
from headish.providers.pointers import NamedPointer, Pointer, decode_pointer, encode_pointer, make_pointer
from headish.providers.shared.tools import SEPARATOR, read_tools
from headish.rows.definitions import (
    POINTER,
    TOOLS,
    definition_history,
    find_definition,
    list_definitions,
    set_definition,
)
from headish.store.space import OpenSpace
from headish.values.names import check_name, stored_name

Tools = list[dict[str, Any]]


class DefiningSpace(OpenSpace):
    """The methods that set, list and remove provider pointers and the tools of servers."""

    def set_pointer(
        self,
        name: str,
        target: str,
        *,
        params: Mapping[str, Any] | None = None,
        base_url: str | None = None,
        key_env: str | None = None,
    ) -> Pointer:
        """Let a name point at ``PROVIDER/MODEL`` from now on; what it pointed at is kept in its history.

        ``params`` are defaults below the option ``params`` of a thread. ``base_url`` is the server of a compatible
        provider, ``key_env`` the environment variable that holds the key for it; a key itself is refused.
        Raises: InvalidName, InvalidArgument, InvalidContent.
        """
        encoded = check_name(name, "provider pointer")
        pointer = make_pointer(target, params=params, base_url=base_url, key_env=key_env)
        self._set(POINTER, encoded, encode_pointer(pointer))
        return pointer

    def pointer(self, name: str) -> Pointer:
        """What a name points at. Raises: UnknownPointer."""
        encoded = check_name(name, "provider pointer")
        return self._database.read(lambda connection: self._find_pointer(connection, encoded))

    def pointers(self) -> list[NamedPointer]:
        """All provider pointers, by name."""
        rows = self._database.read(lambda connection: list_definitions(connection, self._number, POINTER))
        return [_named(row) for row in rows]

    def pointer_history(self, name: str) -> list[NamedPointer]:
        """All that a name ever pointed at, the last first. Raises: UnknownPointer where it never was."""
        encoded = check_name(name, "provider pointer")
        rows = self._database.read(lambda connection: definition_history(connection, self._number, POINTER, encoded))
        if not rows:
            raise UnknownPointer(name)
        return [_named(row) for row in rows]

    def remove_pointer(self, name: str) -> None:
        """Remove a name; its history stays. Raises: UnknownPointer."""
        if not self._set(POINTER, check_name(name, "provider pointer"), None):
            raise UnknownPointer(name)

    def set_tools(self, server: str, tools: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> str:
        """Store what an MCP server answers to ``tools/list``: the list, or the result that holds it as ``tools``.

        A thread whose option ``servers`` names the server is asked with these tools, as ``SERVER___TOOL``. Gives the
        hash of the list, as it is stored.
        Raises: InvalidName, InvalidArgument, InvalidContent, TooLarge.
        """
        encoded = _check_server(server)
        if isinstance(tools, Mapping) and isinstance(tools.get("result"), Mapping):
            tools = tools["result"]  # the whole message of JSON-RPC
        listed = tools.get("tools") if isinstance(tools, Mapping) else tools
        if not isinstance(listed, Sequence) or not all(isinstance(tool, Mapping) for tool in listed):
            raise InvalidArgument("tools are a list of definitions, or an object that holds it as `tools`")
        read_tools(listed)
        data = strictjson.encode([strictjson.plain(tool) for tool in listed])
        if len(data) > self._payload_limit_bytes:
            raise TooLarge("the tools of a server", len(data), self._payload_limit_bytes)
        self._set(TOOLS, encoded, data)
        return hash_payload(data).hex()

    def tools(self, server: str) -> Tools:
        """The tools of a server, as they were stored. Raises: UnknownServer."""
        encoded = _check_server(server)
        return self._database.read(lambda connection: self._find_tools(connection, encoded))

    def servers(self) -> dict[str, Tools]:
        """The tools of all servers that any are stored of, by name."""
        rows = self._database.read(lambda connection: list_definitions(connection, self._number, TOOLS))
        return {stored_name(row[0]): _decode_tools(row) for row in rows}

    def remove_tools(self, server: str) -> None:
        """Forget the tools of a server; their history stays. Raises: UnknownServer."""
        if not self._set(TOOLS, _check_server(server), None):
            raise UnknownServer(server)

    def _set(self, kind: str, name: bytes, data: bytes | None) -> bool:
        return self._database.write(lambda connection: set_definition(connection, self._number, kind, name, data))

    def _find_pointer(self, connection: Connection, name: bytes) -> Pointer:
        row = find_definition(connection, self._number, POINTER, name)
        if row is None:
            raise UnknownPointer(stored_name(name))
        return _decode_pointer(row)

    def _find_tools(self, connection: Connection, server: bytes) -> Tools:
        row = find_definition(connection, self._number, TOOLS, server)
        if row is None:
            raise UnknownServer(stored_name(server))
        return _decode_tools(row)


def _check_server(server: str) -> bytes:
    encoded = check_name(server, "server")
    if SEPARATOR in server or server.endswith("_"):
        reason = f"{SEPARATOR!r} stands between a server and its tool, and names are split at the first one"
        raise InvalidName("server", server, reason)
    return encoded


def _named(row: Row) -> NamedPointer:
    pointer = None if row[2] is None else _decode_pointer(row)
    return NamedPointer(stored_name(row[0]), pointer, datetime.fromtimestamp(row[4] / 1000, UTC))


def _decode_pointer(row: Row) -> Pointer:
    try:
        return decode_pointer(_data(row, "provider pointer"))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(f"of the provider pointer {stored_name(row[0])!r}", f"it does not decode ({error})") from None


def _decode_tools(row: Row) -> Tools:
    try:
        return msgspec.json.decode(_data(row, "tools of the server"), type=list[dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        what = f"of the tools of the server {stored_name(row[0])!r}"
        raise CorruptTurn(what, f"they do not decode ({error})") from None


def _data(row: Row, kind: str) -> bytes:
    """The stored bytes, checked against their address."""
    data = None if row[3] is None else bytes(row[3])
    if data is None or hash_payload(data) != row[2]:
        raise CorruptTurn(f"of the {kind} {stored_name(row[0])!r}", "its payload is missing or disagrees with its hash")
    return data
