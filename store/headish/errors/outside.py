"""The caller's fault: a file, an address or an answer from outside that does not follow its rules.

Mend it; the error gives the place of the mistake, as a path, a line or a number, if it has one.
"""

from __future__ import annotations

from headish.errors.base import InputError


class InvalidBackup(InputError):
    """A file to restore that is no backup, was altered or cut off, or holds what cannot be put back."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"{file}: {reason}")


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
        super().__init__(f"{code}: this is not a valid {what}: {reason} (line {line}, column {column})")


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
