"""Nobody's fault: the call is good, but something beside the store has failed, has lost its place or lacks a right: a
reader, an adapter, a server or its caller, a model, another package.
"""

from __future__ import annotations

from headish.errors.base import HeadishError
from headish.errors.state import Closed


class HiddenMessage(HeadishError):
    """An end user may see nothing of this message (E-PERM-VISIBILITY); ``index`` is its place.

    A debugging view may opt in.
    """

    code = "E-PERM-VISIBILITY"

    def __init__(self, index: int, role: str | None) -> None:
        self.index, self.role = index, role
        super().__init__(f"E-PERM-VISIBILITY: message {index} ({role}) is hidden from end users; only debug shows it")


class AdapterClosed(Closed, RuntimeError):
    """An object of an adapter was used after its ``close``, or after its database was closed."""


class TokenTaken(HeadishError):
    """A token of the space has that label."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(f"there is a token {label!r} in this space: remove it first, or choose another label")


class RightMissing(HeadishError):
    """The caller of a server lacks this right in the space."""

    def __init__(self, right: str, space: str) -> None:
        self.right, self.space = right, space
        super().__init__(f"this takes the right {right!r} in the space {space!r}, which was not given")


class CursorLost(HeadishError):
    """The last change that a reader has seen is not in the space: the space was restored, or is another one.

    ``cursor`` is the reader's, ``now`` the commit number and the number of the space's last change. Read the space
    from its beginning.
    """

    def __init__(self, cursor: str, reason: str, now: tuple[int, int]) -> None:
        self.cursor, self.reason, self.now = cursor, reason, now
        super().__init__(f"the cursor {cursor} is lost: {reason}; read the space anew, without a cursor")


class SummaryFailed(HeadishError):
    """A model was asked for a summary and gave no usable one; nothing was stored."""

    def __init__(self, provider: str, reason: str) -> None:
        self.provider, self.reason = provider, reason
        super().__init__(f"no summary came from {provider}: {reason}; nothing was stored")


class BrokenExtension(HeadishError):
    """What another package brings under an entry point ``group`` does not load, or fails: update or remove it."""

    def __init__(self, group: str, name: str, package: str, error: Exception) -> None:
        self.group, self.name, self.package = group, name, package
        super().__init__(f"{name} of the package {package} ({group}) does not work: {type(error).__name__}: {error}")


class ServerFailed(HeadishError):
    """The tool server ``name`` does not start, or does not answer a call."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"the tool server {name!r} failed: {reason}")
