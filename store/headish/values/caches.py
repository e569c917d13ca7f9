"""The cache flag of a turn: it asks providers to cache up to here, and says for how long.

A column stores the flag, and the sealed ``system`` the time (``cache_ttl``), so a flag without a time is stored and
sealed as it always was. Neither enters the digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.errors import InvalidArgument, shown

Cache = bool | str
"""False: not here. True: for as long as the request says. ``5m``, ``1h``: for that long, whatever the request says."""
CACHE_TTL = "cache_ttl"
"""The key in ``system``, and the name of the parameter that sets the time for all flags of a request."""
TTLS = ("5m", "1h")
"""In rising order."""


def read_cache(given: object) -> Cache:
    """Check a flag that a caller gave. Raises: InvalidArgument for what is not a flag, and a time that no provider
    has."""
    if given is not None and not isinstance(given, bool) and given not in TTLS:
        raise InvalidArgument(f"cache takes true, false, {' or '.join(TTLS)}, not {shown(given)}")
    return str.__str__(given) if isinstance(given, str) else bool(given)


def plausible_cache(given: object) -> Cache:
    """Read a flag from a file. Anything that is not a flag counts as False."""
    return given if given is True or (isinstance(given, str) and given in TTLS) else False


def stored_cache(flag: object, system: Mapping[str, Any]) -> Cache:
    """The flag of a stored turn."""
    time = system.get(CACHE_TTL)
    return time if flag and isinstance(time, str) and time in TTLS else bool(flag)


def longest(flags: Iterable[Cache]) -> Cache:
    """The longest of several flags."""
    return max(flags, key=lambda flag: _ORDER.index(flag) if flag in _ORDER else 1, default=False)


_ORDER: tuple[Cache, ...] = (False, True, *TTLS)
