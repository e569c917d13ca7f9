"""Headers: which pass, and which are written down.

All headers pass except those of one hop, those of one host, and headish's own. A cookie belongs to the host that set
it: one for 127.0.0.1 would go to every server on this machine, so cookies pass in neither direction. ``_KEPT`` lists
the headers that are written down; none of them holds a key.
"""

from __future__ import annotations

from collections.abc import Iterable

from headish.gateway.recording.redacting import KeyFilter

Pairs = list[tuple[str, str]]
"""Headers in order, as they were spelled."""

_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
"""Source: RFC 9110 §7.6.1."""
# Host and cookies belong to the gateway's own address, and the gateway answers `expect` itself.
_DROPPED = _HOP | {"host", "cookie", "set-cookie", "expect"}
_OWN_PREFIX = "x-headish-"
TOKEN_HEADER = "x-headish-token"  # noqa: S105, the name of one
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
"""Where clients send keys."""
_KEY_PROTOCOL = "openai-insecure-api-key."
# An allow-list: a header that nobody thought of may hold a key.
_KEPT = frozenset({
    "content-type", "content-encoding", "user-agent", "anthropic-version", "anthropic-beta", "openai-beta", "x-app",
    "x-headish-conversation", "x-claude-code-session-id", "x-claude-code-agent-id", "session_id", "session-id",
    "conversation_id", "thread-id", "x-codex-parent-thread-id", "x-session-id", "x-parent-session-id",
    "x-session-affinity", "x-opencode-session", "x-client-request-id", "x-request-id", "request-id",
    "retry-after", "openai-version", "openai-processing-ms", "x-gemini-service-tier",
})  # fmt: skip
_KEPT_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-")
_VALUE_LIMIT = 1000


def pairs_of(raw: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Decode headers with their spelling, which aiohttp's own mapping changes. A header that is not UTF-8 is left out:
    aiohttp cannot send it on."""
    pairs = []
    for name, value in raw:
        try:
            pairs.append((name.decode(), value.decode()))
        except UnicodeDecodeError:
            continue
    return pairs


def pass_headers(headers: Iterable[tuple[str, str]]) -> Pairs:
    """The headers that go on."""
    pairs = list(headers)
    # Headers that the client declares to be of this connection alone (RFC 9110 §7.6.1).
    connection_options = {
        name.strip().lower() for key, value in pairs if key.lower() == "connection" for name in value.split(",")
    }
    return [
        (name, value)
        for name, value in pairs
        if (key := name.lower()) not in _DROPPED and key not in connection_options and not key.startswith(_OWN_PREFIX)
    ]


UPGRADE: Pairs = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
"""The headers that ask for a WebSocket, and that agree to one. They belong to one hop, so each hop sends them anew
(RFC 6455 §4.1)."""


def asks_for_websocket(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a request asks for a WebSocket, or an answer agrees to one."""
    pairs = [(name.lower(), value.lower()) for name, value in headers]
    connection_options = {word.strip() for name, value in pairs if name == "connection" for word in value.split(",")}
    return "upgrade" in connection_options and ("upgrade", "websocket") in pairs


def is_packed(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the answer that opens a WebSocket agrees to compressed messages (RFC 7692 §5)."""
    return any(
        value.strip().lower().startswith("permessage-deflate")
        for name, value in headers
        if name.lower() == "sec-websocket-extensions"
    )


def keep_headers(headers: Iterable[tuple[str, str]], keys: KeyFilter) -> dict[str, str]:
    """The headers to write down, names in lower case; the last of those that share a name."""
    return {
        key: keys.clean(value[:_VALUE_LIMIT])
        for name, value in headers
        if (key := name.lower()) in _KEPT or key.startswith(_KEPT_PREFIXES)
    }


def find_secrets(headers: Iterable[tuple[str, str]]) -> list[str]:
    """The keys that a call carries in its headers: each value, and the word after a scheme such as Bearer."""
    secret = (*KEY_HEADERS, "proxy-authorization", "cookie", TOKEN_HEADER)
    pairs = [(name.lower(), value) for name, value in headers]
    values = [value for name, value in pairs if name in secret]
    # A page cannot set headers of a WebSocket, so OpenAI also takes its key in the name of a protocol.
    protocols = [word for name, value in pairs if name == "sec-websocket-protocol" for word in value.split(",")]
    values += [key.strip() for word in protocols if (key := word.partition(_KEY_PROTOCOL)[2])]
    return [each for value in values for each in (value, value.rpartition(" ")[2]) if each]


def set_header(headers: Pairs, name: str, value: str | None) -> Pairs:
    """The headers with ``value`` in place of all headers of that name; if it is None, without them."""
    others = [each for each in headers if each[0].lower() != name.lower()]
    return others if value is None else [*others, (name, value)]


_SECRET_NAMES = frozenset({"key", "api_key", "api-key", "apikey", "token", "access_token", "sig", "signature"})


def split_query(query: str) -> tuple[str, list[str]]:
    """Split a query into the part to write down and the keys that it held."""
    kept, secrets = [], []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name.lower() in _SECRET_NAMES:
            secrets += [value] if value else []
        else:
            kept.append(part)
    return "&".join(kept), secrets
