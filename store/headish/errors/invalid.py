"""The caller's fault: a value, a file or an answer that does not follow its rules. Mend it; the error gives its place,
as a path, a line or a number, if it has one.
"""

from __future__ import annotations

from collections.abc import Mapping

from headish.errors.base import InputError, shown


class InvalidHeadish(InputError):
    """Text that does not follow the grammar of a headish."""

    def __init__(self, headish: str, reason: str) -> None:
        self.headish, self.reason = headish, reason
        super().__init__(f"{headish[:80]!r} is not a headish: {reason}")


class InvalidName(InputError):
    """A bookmark or space name that the rules refuse; ``reason`` is the rule."""

    def __init__(self, kind: str, name: str, reason: str) -> None:
        self.kind, self.name, self.reason = kind, name, reason
        super().__init__(f"{name[:80]!r} cannot be the name of a {kind}: {reason}")


class InvalidRole(InputError):
    """A role outside system, developer, user, assistant, tool."""

    def __init__(self, role: object) -> None:
        self.role = role
        super().__init__(f"unknown role {shown(role)}: use system, developer, user, assistant or tool")


class InvalidContent(InputError):
    """Content, options or meta that cannot be kept; ``path`` leads to the value (``$[0].text``)."""

    def __init__(self, what: str, reason: str, path: str = "$") -> None:
        self.what, self.reason, self.path = what, reason, path
        super().__init__(f"{what} cannot be kept: {reason} (at {path})")


class TooDeep(InvalidContent):
    """More nesting than ``limits.NESTING_LIMIT``."""


class TooLarge(InvalidContent):
    """More bytes than ``limit_bytes``; the value has at least ``size_bytes``: more if ``is_cut``."""

    def __init__(self, what: str, size_bytes: int, limit_bytes: int, *, is_cut: bool = False) -> None:
        self.size_bytes, self.limit_bytes, self.is_cut = size_bytes, limit_bytes, is_cut
        has = f"{size_bytes:,} bytes or more" if is_cut else f"{size_bytes:,} bytes"
        super().__init__(what, f"it has {has} and the limit is {limit_bytes:,}")


class InvalidArgument(InputError):
    """Arguments that do not go together, or one of the wrong kind."""


class InvalidBackup(InputError):
    """A file to restore that is no backup, was altered or cut off, or holds what cannot be put back."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"{file}: {reason}")


class OverBudget(InputError):
    """What must stay of a window has more ``tokens`` than the ``budget``. ``turns`` are the largest, by id."""

    def __init__(self, budget: int, tokens: int, turns: Mapping[str, int]) -> None:
        self.budget, self.tokens, self.turns = budget, tokens, dict(turns)
        largest = ", ".join(f"{turn} with {count:,}" for turn, count in self.turns.items())
        told = (
            f"what must stay has about {tokens:,} tokens, and the budget is {budget:,}; the largest turns are {largest}"
        )
        super().__init__(f"{told}: hide, replace or summarize one of them, or give a larger budget")


class InvalidImport(InputError):
    """A file that does not hold what its format says; ``line`` counts from 1."""

    def __init__(self, source: str, line: int | None, reason: str) -> None:
        self.source, self.line, self.reason = source, line, reason
        where = source if line is None else f"{source}, line {line}"
        super().__init__(f"cannot import {where}: {reason}")


class InvalidConfig(InputError):
    """A file of tool servers that cannot be read; ``server`` is the entry that is wrong, if it is one entry."""

    def __init__(self, file: str, server: str | None, reason: str) -> None:
        self.file, self.server, self.reason = file, server, reason
        where = file if server is None else f"{file}, server {server!r}"
        super().__init__(f"the tool servers cannot be read from {where}: {reason}")


class InvalidPrices(InputError):
    """A table of prices that cannot be read; ``file`` is where it is."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"the prices cannot be read from {file}: {reason}")


class InvalidTranscript(InputError):
    """Text that is not a transcript of its format. ``line`` and ``column`` count from 1, in characters.

    ``code`` is E-PARSE-ENCODING, -DETECT, -HEADER, -FRAME or -CHANNEL-MISSING, E-STREAM-TRUNCATED, or
    E-BODY-CONSTRAINT-VIOLATION; ``format`` is the one it was read as, None if none was recognised.
    """

    def __init__(self, code: str, format: str | None, reason: str, line: int, column: int) -> None:
        self.code, self.format, self.reason = code, format, reason
        self.line, self.column = line, column
        what = f"{format} transcript" if format else "transcript"
        super().__init__(f"{code}: this is no {what}: {reason} (line {line}, column {column})")


class InvalidReply(InputError):
    """A provider's answer that cannot be read; ``event`` is the number of the event, counting from 1."""

    def __init__(self, what: str, reason: str, event: int) -> None:
        self.what, self.reason, self.event = what, reason, event
        super().__init__(f"{what} cannot be read: {reason} (event {event})")


class InvalidAddress(InputError):
    """A base URL that cannot be called, or to which no key may go. Parts that may hold a password are not shown."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(f"{address!r} cannot be called: {reason}")


class InvalidCall(InputError):
    """A tool call that cannot be run (E-CALL-SCHEMA): no such tool, or arguments that do not fit."""

    code = "E-CALL-SCHEMA"

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"{self.code}: the call of {name[:80]!r} cannot be run: {reason}")


class InvalidInterchange(InputError):
    """API JSON that cannot be read as a transcript (E-MAP-INPUT); ``path`` leads to the value that prevents it."""

    code = "E-MAP-INPUT"

    def __init__(self, target: str, reason: str, path: str = "$") -> None:
        self.target, self.reason, self.path = target, reason, path
        super().__init__(f"{self.code}: this {target} cannot be read: {reason} (at {path})")


class UnknownFormat(InputError):
    """No emitter, provider or importer of that name; ``known`` are the names that exist."""

    def __init__(self, name: str, known: tuple[str, ...], kind: str = "format") -> None:
        self.name, self.known = name, known
        super().__init__(f"unknown {kind} {shown(name)}: known are {', '.join(known)}")
