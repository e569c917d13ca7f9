"""The list of tool servers: the JSON file that most programs with tools read (``{"mcpServers": {…}}``).

The file needs no keys: ``${VARIABLE}`` and ``${VARIABLE:-default}`` in its strings are replaced from the environment.
Errors name the place and the variable, never the value, because a value may be a key.

Source: the file as Claude Desktop and most clients after it read it; variables as in code.claude.com/docs/en/mcp,
"Environment variable expansion".
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from headish.content import strictjson
from headish.errors import InvalidConfig, InvalidContent
from headish.providers.shared.tools import SEPARATOR
from headish.values.checks.files import read_regular
from headish.values.limits import MAPPING_LIMIT_BYTES

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ADDRESS = re.compile(r"https?://[^\s/]\S*")


class StdioServer(Struct, frozen=True):
    """A program to start, with messages over its standard input and output.

    It gets ``env`` beside the few variables that every program needs (PATH, HOME, …), not the whole environment.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None


class HttpServer(Struct, frozen=True):
    """A server at an address (streamable HTTP). ``headers`` go out with every request."""

    url: str
    headers: Mapping[str, str] = {}


ServerConfig = StdioServer | HttpServer


def read_config(path: str | os.PathLike[str]) -> dict[str, ServerConfig]:
    """The servers of a file by name, in its order. Unknown keys are ignored.

    A default replaces a variable that is not set, but not one that is set to an empty text.
    Raises: InvalidConfig with the file, the server and the reason.
    """
    file = os.fspath(path)
    servers = _read_file(file).get("mcpServers")
    if not isinstance(servers, dict):
        raise InvalidConfig(file, None, 'it has no object "mcpServers"')
    return {name: _read_server(name, server, file) for name, server in servers.items()}


def refusal(name: str) -> str | None:
    """The reason why a server cannot have the name; None if it can."""
    if not _NAME.fullmatch(name):
        return "a name is made of the letters A to Z, digits, - and _"
    if SEPARATOR in name:
        return f"{SEPARATOR} stands between the server's name and the tool's"
    if name.startswith("_") or name.endswith("_"):
        return "an underscore at its end would run into the separator"
    return None


def _read_file(file: str) -> dict[str, Any]:
    try:
        data = read_regular(file, MAPPING_LIMIT_BYTES)
        if len(data) > MAPPING_LIMIT_BYTES:
            raise InvalidConfig(file, None, f"it has more than {MAPPING_LIMIT_BYTES:,} bytes")
        value = strictjson.decode(data.decode("utf-8-sig"), "the file")  # some editors write a byte order mark
    except OSError as error:
        raise InvalidConfig(file, None, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise InvalidConfig(file, None, f"it is not UTF-8 (byte {error.start})") from None
    except InvalidContent as error:
        raise InvalidConfig(file, None, error.reason) from None
    if not isinstance(value, dict):
        raise InvalidConfig(file, None, "it is not a JSON object")
    return value


def _read_server(name: str, server: Any, file: str) -> ServerConfig:
    reason = refusal(name)
    if reason is not None:
        raise InvalidConfig(file, name, f"the name is refused: {reason}")
    if not isinstance(server, dict):
        raise InvalidConfig(file, name, "it is not a JSON object")
    kinds = [key for key in READERS if key in server]
    if len(kinds) != 1:
        raise InvalidConfig(file, name, 'it needs either "command" or "url"')
    try:
        return READERS[kinds[0]](server)
    except _WrongShape as error:
        raise InvalidConfig(file, name, str(error)) from None


class _WrongShape(ValueError):
    """The problem of a server's entry, as the end of a sentence."""


def _read_stdio(server: Mapping[str, Any]) -> StdioServer:
    args = server.get("args", [])
    if not isinstance(args, list):
        raise _WrongShape('"args" is not an array')
    cwd = None if server.get("cwd") is None else _expand(server["cwd"], "cwd")
    command = _expand(server["command"], "command")
    if not command:
        raise _WrongShape('"command" is empty')
    return StdioServer(command, tuple(_expand(arg, f"args[{index}]") for index, arg in enumerate(args)),
                       _expand_all(server, "env"), cwd)  # fmt: skip


def _read_http(server: Mapping[str, Any]) -> HttpServer:
    url = _expand(server["url"], "url")
    if not _ADDRESS.fullmatch(url):
        raise _WrongShape('"url" is not an address that begins with http:// or https://')
    headers = {key: value.strip() for key, value in _expand_all(server, "headers").items()}
    for key, value in headers.items():
        # The HTTP library would refuse it later, with the value, which may be a key, in its message.
        if not (value.isascii() and value.isprintable()):
            raise _WrongShape(f'"headers.{key}" holds a character that no HTTP header may have')
    return HttpServer(url, headers)


def _expand_all(server: Mapping[str, Any], key: str) -> dict[str, str]:
    values = server.get(key, {})
    if not isinstance(values, dict):
        raise _WrongShape(f'"{key}" is not an object')
    return {name: _expand(value, f"{key}.{name}") for name, value in values.items()}


def _expand(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _WrongShape(f'"{place}" is not a string')
    return _VARIABLE.sub(lambda found: _look_up(found, place), value)


def _look_up(found: re.Match[str], place: str) -> str:
    variable, default = found.groups()
    value: str | None = os.environ.get(variable, default)
    if value is None:
        raise _WrongShape(f'"{place}" needs the environment variable {variable}, which is not set')
    return value


READERS: dict[str, Callable[[Mapping[str, Any]], ServerConfig]] = {"command": _read_stdio, "url": _read_http}
