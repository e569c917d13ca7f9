"""The ``erase=`` argument that every adapter takes, and its meaning.

By default, a verb that deletes a conversation erases it, and a verb that clears, pops, prunes or compacts hides: what
was said leaves the conversation but stays in the database, where ``store.bookmarks.history`` leads to it.
``erase=True`` makes all of these verbs erase, ``erase=False`` makes all of them hide.
"""

from __future__ import annotations

import threading
import warnings

from headish.errors import InvalidArgument, shown

_said: set[tuple[str, str]] = set()
_lock = threading.Lock()


class HidesOnly(UserWarning):
    """A verb took something out of a conversation but left it in the database."""


def check_erase(erase: object) -> bool | None:
    """Return an adapter's argument ``erase`` unchanged. Raises: InvalidArgument if it is not True, False or None."""
    if erase is None or isinstance(erase, bool):
        return erase
    raise InvalidArgument(f"erase is True, False or None, not {shown(erase)}")


def erases(erase: bool | None, adapter: str, verb: str, *, deletes: bool = False) -> bool:
    """Whether a verb erases. A verb that hides although the caller did not choose that warns with ``HidesOnly``, once
    per verb and process.

    ``deletes`` is for a verb whose name promises a deletion: it erases unless the caller passed ``erase=False``.
    """
    if erase is not None or deletes:
        return erase is not False
    with _lock:
        is_new = (adapter, verb) not in _said
        _said.add((adapter, verb))
    if is_new:
        warnings.warn(
            f"{adapter}.{verb} hides: what was said stays in the database. erase=True erases it, erase=False hides it"
            " without this warning.",
            HidesOnly,
            stacklevel=3,
        )
    return False
