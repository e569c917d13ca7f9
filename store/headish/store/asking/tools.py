"""``store.tools``: the stored tool lists of MCP servers, each with its history."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headish.content import strictjson
from headish.content.hashes import hash_payload
from headish.content.secrecy.finding import LOOKS_LIKE_A_KEY, find_secret
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidContent, InvalidName, TooLarge
from headish.history.definitions import ToolList, find_tools, read_tool_list, unknown_server
from headish.providers.shared.tools import SEPARATOR, read_tools
from headish.rows.definitions import TOOLS, list_definitions
from headish.store.asking.pointers import define
from headish.store.space import SpacePart
from headish.values.names import check_name, stored_name


class Tools(SpacePart, Mapping[str, ToolList]):
    """The tools that a space knows: a mapping from the name of each MCP server to its list of definitions."""

    def __getitem__(self, server: str) -> ToolList:
        """The tools of a server, as they were stored. Raises: UnknownServer (an InputError and a KeyError)."""
        return self._space._read_by(find_tools, _check_server(server))

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def list(self) -> dict[str, ToolList]:
        """The tools of all servers, by name. Cost: one statement."""
        space = self._space

        def work(connection: Connection) -> dict[str, ToolList]:
            rows = list_definitions(connection, space._number, TOOLS)
            return {stored_name(row[0]): read_tool_list(row) for row in rows}

        return space._read(work)

    def set(self, server: str, tools: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> str:
        """Store what an MCP server answers to ``tools/list``: the list, or the result that holds it as ``tools``.

        A thread whose option ``servers`` names the server is asked with these tools, as ``SERVER___TOOL``. Returns the
        hash of the list as it is stored.
        Raises: InvalidName, InvalidArgument, InvalidContent, TooLarge.
        """
        encoded = _check_server(server)
        listed = _listed(tools)
        read_tools(listed)
        # Descriptions are written for readers: an example in one may look like a key.
        secret = find_secret(listed, "$", prose=("description",))
        if secret is not None:
            raise InvalidContent("the tools of a server", LOOKS_LIKE_A_KEY, secret)
        data = strictjson.encode([strictjson.plain(tool) for tool in listed])
        limit_bytes = self._space._payload_limit_bytes
        if len(data) > limit_bytes:
            raise TooLarge("the tools of a server", len(data), limit_bytes)
        define(self._space, TOOLS, encoded, data)
        return hash_payload(data).hex()

    def remove(self, server: str) -> None:
        """Forget the tools of a server; their history stays. Raises: UnknownServer."""
        encoded = _check_server(server)
        if not define(self._space, TOOLS, encoded, None):
            raise self._space._read_by(unknown_server, encoded)


def _listed(tools: Any) -> builtins.list[Mapping[str, Any]]:
    if isinstance(tools, Mapping) and isinstance(tools.get("result"), Mapping):
        tools = tools["result"]  # the whole message of JSON-RPC
    listed = tools.get("tools") if isinstance(tools, Mapping) else tools
    if not isinstance(listed, Sequence) or not all(isinstance(tool, Mapping) for tool in listed):
        raise InvalidArgument("tools are a list of definitions, or an object that holds it as `tools`")
    return builtins.list(listed)


def _check_server(server: str) -> bytes:
    encoded = check_name(server, "server")
    if SEPARATOR in server or server.endswith("_"):
        reason = f"{SEPARATOR!r} stands between a server and its tool, and names are split at the first one"
        raise InvalidName("server", server, reason)
    return encoded
