"""The ``erase=`` argument that every adapter takes, and its meaning.

Without it, a verb that deletes a conversation erases it, and one that clears, pops, prunes or compacts hides: the turns
leave the conversation but stay in the database, and ``store.bookmarks.history`` leads to them. ``erase=True`` makes all
of them erase, ``erase=False`` makes all of them hide.
"""

from __future__ import annotations

import threading
import warnings

from headish.errors import InvalidArgument, shown
from headish.values.forking import PerProcess

_said: set[tuple[str, str]] = set()
_lock = PerProcess(threading.Lock)


class HidesOnly(UserWarning):
    """A verb took turns out of a conversation and left them in the database."""


def check_erase(erase: object) -> bool | None:
    """Check an adapter's ``erase`` argument, and return it. Raises: InvalidArgument."""
    if erase is None or isinstance(erase, bool):
        return erase
    raise InvalidArgument(f"erase is True, False or None, not {shown(erase)}")


def erases(erase: bool | None, adapter: str, verb: str, *, deletes: bool = False) -> bool:
    """Whether a verb erases. If it only hides and the caller did not choose that, it warns with ``HidesOnly``, once per
    verb.

    ``deletes`` is for a verb whose name promises a deletion: it erases unless ``erase`` is False.
    """
    if erase is not None or deletes:
        return erase is not False
    with _lock.now:
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
