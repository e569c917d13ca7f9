"""Errors between stores: bundles that cannot be taken, and remotes that are not as they were."""

from __future__ import annotations

from headish.errors.base import HeadishError, InputError

SHOWN = 5
"""How many ids or handles a message lists."""


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


class InvalidBundle(InputError):
    """Not a bundle, an altered or cut-off one, or one that holds what no store takes. Nothing of its page is stored."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"{file}: {reason}")


class NotADevice(InvalidBundle):
    """An object at a remote was not written by a device that has its key."""


class NotSigned(InvalidBundle):
    """Nobody on the list of signers has signed this bundle or head of a log, and that is required. None of it is
    stored."""


class ForeignConflict(InputError):
    """A turn arrived whose id this space has with another seal. Nothing of its page is stored."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        super().__init__(f"turn {turn} arrived with another seal than it has here: one of the two was altered")


class MissingParents(InputError):
    """What arrived continues turns, or speaks of some, that are neither in it nor here. ``turns`` are their ids."""

    def __init__(self, file: str, turns: tuple[str, ...]) -> None:
        self.file, self.turns = file, turns
        super().__init__(
            f"{file} continues turns that are not here: {_listed(self.turns)}; apply the bundle that holds them first"
        )


class SecretsFound(InputError):
    """Something that was about to leave this machine looks like a key. ``turns`` are the ids of the turns that contain
    it, ``handles`` their handles; ``conversations`` are those whose name, title, tags or marks contain it."""

    def __init__(self, turns: tuple[str, ...], handles: tuple[str, ...], conversations: tuple[str, ...] = ()) -> None:
        self.turns, self.handles, self.conversations = turns, handles, conversations
        where = [_listed(self.handles)] if handles else []
        where += [f"what is said of {_listed(conversations)}"] if conversations else []
        super().__init__(
            f"what looks like a key would leave this machine, in {' and in '.join(where)}: "
            f"erase it, or say --allow-secrets (allow_secrets=True)"
        )


class UnknownRemote(InputError, KeyError):
    """No remote of that name."""

    def __init__(self, name: str, hint: str = "") -> None:
        self.name = name
        more = f"; {hint}" if hint else ""
        super().__init__(f"there is no remote {name!r}: 'headish remote add' names one{more}")


class RemoteTaken(InputError):
    """The name is that of another remote, or the place is used in another way."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"remote {name!r}: {reason}")


class RemoteUnavailable(HeadishError):
    """A remote cannot be reached, or refuses; what was to be done is kept for the next time."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"{url}: {reason}")


class RemoteRefused(HeadishError):
    """The store at the other end of a live remote has refused something: ``error`` is the name of its error there."""

    def __init__(self, url: str, error: str, reason: str) -> None:
        self.url, self.error, self.reason = url, error, reason
        super().__init__(f"{url} refused ({error}): {reason}")


class RemoteRolledBack(HeadishError):
    """Logs of a remote are shorter than before, or different. ``logs`` gives the earlier and the present state of each.

    All other logs were read.
    """

    def __init__(self, name: str, logs: tuple[str, ...]) -> None:
        self.name, self.logs = name, logs
        super().__init__(
            f"remote {name!r} went back: {'; '.join(self.logs)}; somebody put an old state there, or removed what was "
            f"new: --accept-rollback (accept_rollback=True) takes it as it is"
        )


class NoRemoteKey(HeadishError):
    """This machine does not have the key of an encrypted remote, or not the one that is used there now."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"remote {name!r}: {reason}")


class SigningFailed(HeadishError):
    """``ssh-keygen`` did not sign, or cannot be asked; ``reason`` says why. Nothing was stored."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
