"""Tool definitions and names: the part that all providers share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from headish.content import strictjson
from headish.content.forms.customs import CHAT, SCHEMA
from headish.content.hashes import hash_payload
from headish.errors import InvalidArgument
from headish.providers.shared.schemas import clean_schema, fill_arrays, join_top

_REWRITTEN = re.compile(r"_[0-9a-f]{8}\Z")
# As MCP, Anthropic and OpenAI spell it: definitions may come from any of them.
_SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters")


class ToolNames:
    """Rewrites, one for one, the names that a provider refuses or that one of its own tools has.

    The new name depends on the old name alone, and ends with a digest of it. So two names never become the same, and a
    tool that is added later changes nothing that was sent before.
    """

    def __init__(self, legal: re.Pattern[str], limit: int) -> None:
        self._legal, self._limit = legal, limit
        self.rewritten: dict[str, str] = {}
        self.taken: Collection[str] = ()
        """Names of the provider's own tools, which no tool of the thread may have beside them."""

    def send(self, name: str) -> str:
        """The name as it goes out."""
        if self._legal.fullmatch(name) and len(name) <= self._limit and name not in self.taken:
            return name
        # The digest keeps names apart that would become the same once their other characters are replaced.
        digest = hash_payload(name.encode(errors="surrogatepass")).hex()[:8]
        sent = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[: self._limit - len(digest) - 1] + f"_{digest}"
        self.rewritten[sent] = name
        return sent


def may_be_rewritten(name: str) -> bool:
    """Whether ``ToolNames`` can have made this name: it ends with a digest."""
    return _REWRITTEN.search(name) is not None


class ToolDefinition(NamedTuple):
    """A tool as providers define one; ``schema`` is a JSON Schema of an object.

    A custom tool takes text. ``format`` restricts it, in the form of the Responses API; an empty one allows any text.
    """

    name: str
    description: str | None
    schema: dict[str, Any]
    format: Mapping[str, Any] | None = None


class Choice(NamedTuple):
    """Whether the model must call: ``auto``, ``any`` (some tool), ``none``, or ``tool``, by its name as it goes out."""

    mode: str
    name: str | None = None


def read_tools(
    definitions: Sequence[Mapping[str, Any]], keywords: frozenset[str] = frozenset()
) -> tuple[list[ToolDefinition], list[str]]:
    """Read tools from definitions as MCP lists them; also returns those of their keys and ``keywords`` that are not
    sent.

    Raises: InvalidArgument if one has no name, two have the same name, or a schema is not that of an object;
    InvalidContent if one is not JSON.
    """
    dropped: dict[str, None] = {}
    tools = [_read_tool(definition, keywords, dropped) for definition in definitions]
    twice = next((name for name, count in Counter(tool.name for tool in tools).items() if count > 1), None)
    if twice is not None:
        raise InvalidArgument(f"two tools are named {twice!r}")
    return tools, list(dropped)


def _read_tool(definition: Mapping[str, Any], keywords: frozenset[str], dropped: dict[str, None]) -> ToolDefinition:
    if not isinstance(definition, Mapping):
        raise InvalidArgument("a tool is defined by a mapping of name, description and inputSchema")
    strictjson.check(definition, "a tool")
    if definition.get("type") == CHAT:
        return _read_custom(definition)
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidArgument("a tool needs a `name`")
    key = next((key for key in _SCHEMA_KEYS if definition.get(key) is not None), None)
    schema = {} if key is None else definition[key]
    if not isinstance(schema, Mapping):
        raise InvalidArgument(f"the inputSchema of the tool {name!r} is not an object")
    if schema.get("type", "object") != "object":
        raise InvalidArgument(f"the inputSchema of the tool {name!r} is not that of an object")
    description = definition.get("description")
    dropped.update((each, None) for each in definition if each not in ("name", "description", *_SCHEMA_KEYS))
    cleaned = clean_schema(strictjson.plain(schema), keywords, dropped) if keywords else strictjson.plain(schema)
    return ToolDefinition(name, description if isinstance(description, str) else None, {"type": "object", **cleaned})


def _read_custom(definition: Mapping[str, Any]) -> ToolDefinition:
    """A custom tool in the form of the Responses API (``name``, ``format``), or of Chat (below the key ``custom``)."""
    inner = definition.get(CHAT)
    inner_form = inner if isinstance(inner, Mapping) else definition
    name, description, format = inner_form.get("name"), inner_form.get("description"), inner_form.get("format")
    if not isinstance(name, str) or not name:
        raise InvalidArgument("a tool needs a `name`")
    if format is not None and not isinstance(format, Mapping):
        raise InvalidArgument(f"the format of the tool {name!r} is not an object")
    grammar = None if format is None else format.get("grammar")
    flat = {"type": "grammar", **grammar} if isinstance(grammar, Mapping) else dict(format or {})
    if flat and flat.get("type") not in _FORMATS:
        raise InvalidArgument(f"the format of the tool {name!r} is of the type text or grammar")
    if flat.get("type") == "grammar" and not all(isinstance(flat.get(key), str) for key in ("syntax", "definition")):
        raise InvalidArgument(f"the grammar of the tool {name!r} has a syntax (lark, regex) and a definition")
    described = description if isinstance(description, str) else None
    return ToolDefinition(name, described, dict(SCHEMA), strictjson.plain(flat))


_FORMATS = ("text", "grammar")


class Reporter(Protocol):
    """Takes notes and refusals."""

    def note(self, what: str) -> None: ...
    def refuse(self, what: str) -> Any: ...


def join_schema(
    report: Reporter, called: str, schema: Mapping[str, Any], refused: Collection[str] = ()
) -> dict[str, Any]:
    """The schema of a tool as one object at its top, without the ``refused`` keywords there. Notes what that loses."""
    joined = {key: value for key, value in join_top(schema).items() if key not in refused}
    lost = [key for key in schema if key not in joined]
    if lost:
        report.note(f"the top of the schema of {called} is made one object, without {', '.join(lost)}")
    return joined


def fill_schema(report: Reporter, called: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """As ``join_schema``, for OpenAI's APIs: with ``properties``, and with ``items`` in every array."""
    filled: dict[str, Any] = fill_arrays(join_schema(report, called, schema, ("enum", "not")))
    filled.setdefault("properties", {})
    return filled


def choose_tool(report: Reporter, names: ToolNames, mode: Any, tools: Sequence[str]) -> Choice | None:
    """Read the option ``tool_mode`` as a choice among ``tools``, the names as they go out."""
    if mode is None:
        return None
    sent = names.send(mode) if isinstance(mode, str) and mode else ""
    choice = Choice(MODES[sent]) if sent in MODES else None
    if sent in tools:  # a tool may be called `none`: then its name means the tool
        choice = Choice("tool", sent)
    if choice is None and (tools or not sent):
        report.refuse(f"the option tool_mode={mode!r}: it is auto, any, none or the name of a tool")
        return None
    if not tools:
        report.note(f"the option tool_mode={mode!r} is not sent: there are no tools")
        return None
    return choice


MODES = {"auto": "auto", "any": "any", "required": "any", "none": "none"}
"""The words of ``tool_mode``. A tool of the same name takes precedence."""


SEPARATOR = "___"
"""The text between a server and its tool in the name that goes out. Names are split at its first occurrence."""


def served_tools(server: str, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The definitions of a server's tools under the names with which they go out."""
    flat = [{"type": CHAT, **tool[CHAT]} if isinstance(tool.get(CHAT), Mapping) else tool for tool in tools]
    return [{**tool, "name": f"{server}{SEPARATOR}{tool.get('name', '')}"} for tool in flat]


def split_tool(name: str) -> tuple[str, str] | None:
    """``(server, tool)`` of a name that went out; None if it does not belong to a server."""
    server, separator, tool = name.partition(SEPARATOR)
    return (server, tool) if server and separator and tool else None
