"""The fault of a provider, of the way to it, or of the key for it.

``transient`` says whether the same call may succeed later.
"""

from __future__ import annotations

from headish.errors.base import HeadishError


class CallError(HeadishError):
    """A provider could not be asked, or did not answer. ``transient``: the same call may succeed later.

    None of these shows a key: if a provider echoes one, ``***`` replaces it.
    """

    transient = False  # retry a call only if no part of its answer has arrived (docs/adr/0014-calls.md)

    def __init__(self, provider: str, reason: str) -> None:
        self.provider, self.reason = provider, reason
        super().__init__(f"{provider}: {reason}")


class MissingKey(CallError):
    """No key; ``looked_at`` are the places, in order: environment variables, then the keyring's entries."""

    def __init__(self, provider: str, looked_at: tuple[str, ...]) -> None:
        self.looked_at = looked_at
        super().__init__(provider, f"no key found; looked in {', '.join(looked_at)}")


class InvalidKey(CallError):
    """A key with a character that no HTTP header can hold; ``source`` says where it was found."""

    def __init__(self, provider: str, source: str, reason: str) -> None:
        self.source = source
        super().__init__(provider, f"the key in {source} cannot be sent: {reason}")


class NoCredentials(CallError):
    """The credentials of a cloud are missing, have run out or cannot be renewed; ``advice`` says what to do."""

    def __init__(self, provider: str, cloud: str, reason: str, advice: str) -> None:
        self.cloud, self.advice = cloud, advice
        super().__init__(provider, f"no credentials for {cloud}: {reason}; {advice}")


class ClockSkewed(CallError):
    """A signature whose time the cloud does not accept. ``behind_seconds`` is how far this machine's clock is behind
    the server's (negative: ahead), or None if the server's time is unknown."""

    def __init__(self, provider: str, cloud: str, behind_seconds: int | None) -> None:
        self.cloud, self.behind_seconds = cloud, behind_seconds
        off = "is wrong"
        if behind_seconds is not None:
            off = f"is {abs(behind_seconds):,} s {'behind' if behind_seconds > 0 else 'ahead of'} the server's"
        super().__init__(provider, f"{cloud} refuses the signature: the clock of this machine {off}; set the clock")


class UncertainBatch(CallError):
    """A batch whose creation was cut off; ``name`` is what the store calls it. The provider may have it or not."""

    def __init__(self, name: str, provider: str, reason: str) -> None:
        self.name = name
        super().__init__(
            provider,
            f"whether {name!r} was created is not known: {reason}; 'headish batch status {name}' looks for it, and"
            f" 'headish batch drop {name}' forgets it",
        )


class Unreachable(CallError):
    """No connection, or it was lost before the answer began; ``address`` is the server's."""

    transient = True

    def __init__(self, provider: str, address: str, reason: str) -> None:
        self.address = address
        super().__init__(provider, f"{address} cannot be reached: {reason}")


class ConnectTimedOut(Unreachable):
    """No connection within ``limit_seconds``. The call is tried again, since nobody has seen it."""

    def __init__(self, provider: str, address: str, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        super().__init__(provider, address, f"no connection within {limit_seconds:g} s")


class TimedOut(CallError):
    """The time allowed, ``limit_seconds``, passed. What arrived before is kept. The class says which time."""

    def __init__(self, provider: str, limit_seconds: float, reason: str) -> None:
        self.limit_seconds = limit_seconds
        super().__init__(provider, f"{reason} within {limit_seconds:g} s")


class FirstByteTimedOut(TimedOut):
    """No byte of an answer came in time: ``Timeouts.first_byte_seconds``."""


class SilenceTimedOut(TimedOut):
    """An answer began, and no further byte came in time: ``Timeouts.silence_seconds``."""


class CallTimedOut(TimedOut):
    """The whole call took too long, its retries included: ``Timeouts.total_seconds``."""


class CallCancelled(CallError):
    """The call was ended from another thread or task. What arrived before is kept."""


class CallRefused(CallError):
    """An error status, with the provider's own message. ``retry_after_seconds`` is the wait it asks for, or None."""

    def __init__(
        self,
        provider: str,
        status: int,
        message: str,
        retry_after_seconds: float | None = None,
        *,
        transient: bool = False,
    ) -> None:
        self.status, self.message, self.retry_after_seconds = status, message, retry_after_seconds
        self.transient = transient
        hint = "" if retry_after_seconds is None else f" (it asks to wait {retry_after_seconds:g} s)"
        super().__init__(provider, f"status {status}: {message}{hint}")


class Redirected(CallError):
    """A redirect. It is never followed, because the key and the conversation would go with it."""

    def __init__(self, provider: str, status: int, location: str) -> None:
        self.status, self.location = status, location
        where = location or "nowhere"
        super().__init__(provider, f"status {status} redirects to {where}; redirects are not followed")


class UnreadableAnswer(CallError):
    """An answer that headish does not read, because of its content type, its encoding or its size."""


class Interrupted(CallError):
    """The connection was lost in the middle of the answer. What arrived before is kept."""
