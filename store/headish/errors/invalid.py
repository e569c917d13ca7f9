"""The caller's fault: a value that does not follow its rules. Mend it; the error gives its place, if it has one."""

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


class OverBudget(InputError):
    """What must stay of a window has more ``tokens`` than the ``budget``. ``turns`` are the largest, by id."""

    def __init__(self, budget: int, tokens: int, turns: Mapping[str, int]) -> None:
        self.budget, self.tokens, self.turns = budget, tokens, dict(turns)
        largest = ", ".join(f"{turn} with {count:,}" for turn, count in self.turns.items())
        reason = (
            f"what must stay has about {tokens:,} tokens, and the budget is {budget:,}; the largest turns are {largest}"
        )
        super().__init__(f"{reason}: hide, replace or summarize one of them, or give a larger budget")


class UnknownFormat(InputError):
    """No emitter, provider or importer of that name; ``known`` are the names that exist."""

    def __init__(self, name: str, known: tuple[str, ...], kind: str = "format") -> None:
        self.name, self.known = name, known
        super().__init__(f"unknown {kind} {shown(name)}: known are {', '.join(known)}")
