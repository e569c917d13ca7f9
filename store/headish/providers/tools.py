"""Tool definitions and names, as far as providers agree on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headish import strictjson
from headish.canonical import hash_payload
from headish.errors import InvalidArgument

_SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters")


class ToolNames:
    """Names that a provider refuses, rewritten one for one.

    What a name becomes depends on the name alone: a digest of it stands at the end, so two names never meet, and a
    tool that is added later changes nothing that was sent before.
    """

    def __init__(self, legal: re.Pattern[str], limit: int) -> None:
        self._legal, self._limit = legal, limit
        self.rewritten: dict[str, str] = {}

    def send(self, name: str) -> str:
        """The name as it goes out."""
        if self._legal.fullmatch(name) and len(name) <= self._limit:
            return name
        digest = hash_payload(name.encode(errors="surrogatepass")).hex()[:8]
        sent = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[: self._limit - len(digest) - 1] + f"_{digest}"
        self.rewritten[sent] = name
        return sent


def read_tool(definition: Mapping[str, Any]) -> tuple[str, str | None, dict[str, Any]]:
    """``(name, description, schema)`` of a definition as MCP lists it; what MCP keeps beside them is not sent.

    Raises: InvalidArgument where it has no name or its schema is no object; InvalidContent where it is no JSON.
    """
    strictjson.check(definition, "a tool")
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidArgument("a tool needs a `name`")
    schema = next((definition[key] for key in _SCHEMA_KEYS if key in definition), {"type": "object"})
    if not isinstance(schema, Mapping):
        raise InvalidArgument(f"the inputSchema of the tool {name!r} is no object")
    description = definition.get("description")
    return name, description if isinstance(description, str) else None, strictjson.plain(schema)


def read_tools(definitions: Sequence[Mapping[str, Any]]) -> list[tuple[str, str | None, dict[str, Any]]]:
    """All definitions. Raises: InvalidArgument also where two have one name."""
    tools = [read_tool(definition) for definition in definitions]
    names = [name for name, _, _ in tools]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"two tools are named {twice!r}")
    return tools
