"""Find the client and the session of a call: a table of how clients identify themselves.

An unknown client is named by the first word of its ``user-agent``, and has a session only if it sends
``x-headish-conversation``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3

CONVERSATION = "x-headish-conversation"
"""The header by which any client names its conversation."""
_SESSION_LIMIT = 200
_WORD = re.compile(r"[^a-z0-9.-]+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_OPENCODE = re.compile(r"ses_[0-9a-f]{12}[0-9A-Za-z]{14}")
"""A time, then random letters and digits."""


class KnownClient(NamedTuple):
    """A client, by the beginning of its ``user-agent``.

    ``is_agent``: it works with tools, and its requests without tools (titles, probes) are apart from its conversation.
    ``sessions`` find the session in headers and body; the first that finds one counts. ``agent`` finds which sub-agent
    of the session asks. ``preambles`` begin texts that it puts before the words of a person; ``compactions`` begin the
    first text of a lane that summarizes the lane before it.
    """

    name: str
    begins: tuple[str, ...]
    is_agent: bool
    sessions: tuple[Callable[[Mapping[str, str], Mapping[str, Any]], Any], ...] = ()
    preambles: tuple[str, ...] = ()
    compactions: tuple[str, ...] = ()
    agent: Callable[[Mapping[str, str], Mapping[str, Any]], Any] = lambda _headers, _body: None


def _header(name: str) -> Callable[[Mapping[str, str], Mapping[str, Any]], Any]:
    return lambda headers, _body: headers.get(name)


def _child(name: str, parent: str) -> Callable[[Mapping[str, str], Mapping[str, Any]], Any]:
    """Read a header that counts only beside the one that names the parent."""

    def read(headers: Mapping[str, str], _body: Mapping[str, Any]) -> Any:
        own, above = headers.get(name), headers.get(parent)
        return own if above else None

    return read


def _value(name: str) -> Callable[[Mapping[str, str], Mapping[str, Any]], Any]:
    return lambda _headers, body: body.get(name)


def _anthropic_user(_headers: Mapping[str, str], body: Mapping[str, Any]) -> Any:
    """``metadata.user_id``: JSON with ``session_id``, or ``user_…_session_UUID`` in older versions."""
    metadata = body.get("metadata")
    user_id = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    if not isinstance(user_id, str):
        return None
    try:
        user = msgspec.json.decode(user_id)
    except msgspec.MsgspecError:
        return user_id.rpartition("_session_")[2] if "_session_" in user_id else None
    return user.get("session_id") if isinstance(user, Mapping) else None


def _codex_agent(headers: Mapping[str, str], body: Mapping[str, Any]) -> Any:
    """The thread of a sub-agent, or the one in which Codex's terminal asks for a title. That one has tools and a
    session of its own, and only ``thread_source`` in ``client_metadata`` tells what it is for."""
    child = _child("thread-id", "x-codex-parent-thread-id")(headers, body)
    metadata = body.get("client_metadata")
    turn = metadata.get("x-codex-turn-metadata") if isinstance(metadata, Mapping) else None
    if child or not isinstance(turn, str):
        return child
    try:
        described = msgspec.json.decode(turn, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    return described.get("thread_id") if described.get("thread_source") == "thread_title" else None


CLIENTS = (
    # @anthropic-ai/claude-code 2.1.197, seen on 2026-11-25, and its sub-agents on 2026-11-28.
    KnownClient(
        "claude-code",
        ("claude-cli/",),
        True,
        (_header("x-claude-code-session-id"), _anthropic_user),
        # The last three: what a slash command leaves, such as /clear.
        ("<system-reminder>", "<local-command-caveat>", "<command-name>", "<local-command-stdout>"),
        ("This session is being continued from a previous conversation",),
        _header("x-claude-code-agent-id"),
    ),
    # @openai/codex 0.169.0, seen on 2026-11-25, and 0.171.0, on 2026-11-26, and its requests for titles on 2026-11-28;
    # `session_id` and `conversation_id` are of versions before 0.130.
    KnownClient(
        "codex",
        ("codex_", "codex-", "Codex"),
        True,
        (_header("session-id"), _header("session_id"), _header("conversation_id"), _value("prompt_cache_key")),
        ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>"),
        ("Another language model started to solve this problem",),
        _codex_agent,
    ),
    # @google/gemini-cli 0.61.0, seen on 2026-11-25: it sends no session.
    KnownClient(
        "gemini-cli",
        ("GeminiCLI",),
        True,
        (),
        ("<session_context>", "This is the Gemini CLI."),
        ("<state_snapshot>",),
    ),
    # opencode-ai 1.18.33, seen on 2026-11-28; `x-opencode-session` goes to its own provider.
    KnownClient(
        "opencode",
        ("opencode/",),
        True,
        (
            _header("x-parent-session-id"),
            _header("x-session-id"),
            _header("x-session-affinity"),
            _header("x-opencode-session"),
        ),
        agent=_child("x-session-id", "x-parent-session-id"),
    ),
)
"""The known clients, each with the version that was read and the date."""
PREAMBLES = tuple(each for client in CLIENTS for each in client.preambles)
"""The beginnings of texts in a user's message that a client wrote."""
VOLATILE = ("x-anthropic-billing-header:",)
"""The beginnings of blocks of a system prompt that change with every request. Claude Code 2.1.x puts one first:
``x-anthropic-billing-header: cc_version=…; cc_entrypoint=…; cch=…`` (seen on 2026-11-25)."""


class Session(NamedTuple):
    """The client and session of a call. ``id`` is None if the client names no session, ``agent`` unless a sub-agent of
    it asks; ``shorts`` are shorter names for it."""

    client: str
    id: str | None
    known: KnownClient | None
    agent: str | None = None

    @property
    def shorts(self) -> tuple[str, ...]:
        """Names for the session, the shortest first."""
        if self.id is None:
            return ()
        if _OPENCODE.fullmatch(self.id):
            return as_word(self.id[-6:]), as_word(self.id)
        uuid = _UUID.fullmatch(self.id)
        if uuid is None:
            return (as_word(self.id),)
        # The first digits of a time-ordered UUID are the same for hours.
        short = self.id.replace("-", "")[-6:] if uuid[1] == "7" else self.id[:6]
        return short, self.id[-12:], self.id


def find_session(headers: Mapping[str, str], body: Mapping[str, Any]) -> Session:
    """Find the client of a call and its session."""
    agent = headers.get("user-agent", "")
    client = next((each for each in CLIENTS if agent.startswith(each.begins)), None)
    conversation = headers.get(CONVERSATION)
    candidates = [conversation, *(read(headers, body) for read in (client.sessions if client else ()))]
    session = next((each for each in candidates if isinstance(each, str) and each), None)
    id = None if session is None else bounded(session)
    if client is None:
        return Session(_name_of(agent), id, None)
    child = client.agent(headers, body)
    return Session(client.name, id, client, bounded(child) if isinstance(child, str) and child else None)


def bounded(session: str) -> str:
    """A client's name for a session or a conversation, if it is printable and short; else a digest of it."""
    plain = session.isprintable() and len(session) <= _SESSION_LIMIT
    return session if plain else blake3(session.encode(errors="replace")).hexdigest(length=16)


def _name_of(agent: str) -> str:
    name = agent.partition("/")[0].partition(" ")[0]
    return as_word(name) if name else "client"


def as_word(text: str) -> str:
    """Make of a text a word for a bookmark's name: small letters, digits, dots and dashes, at most 40 characters."""
    word = _WORD.sub("-", text.lower().replace("..", ".")).strip("-.")[:40]
    return word or blake3(text.encode(errors="replace")).hexdigest(length=3)
