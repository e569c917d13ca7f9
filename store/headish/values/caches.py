"""The cache flag of a turn: it asks providers to cache up to here, and says for how long.

The column says whether, the sealed ``system`` says for how long (``cache_ttl``), so a flag without a time is stored and
sealed as ever. Neither enters the digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.errors import InvalidArgument, shown

Cache = bool | str
"""False: not here. True: for as long as the request says. ``5m``, ``1h``: for so long, whatever the request says."""
CACHE_TTL = "cache_ttl"
"""The key of ``system``, and of the parameter that says it for all flags of a request."""
TTLS = ("5m", "1h")
"""In rising order."""


def read_cache(given: object) -> Cache:
    """A flag as it was given. Raises: InvalidArgument for a time that no provider has."""
    if isinstance(given, str) and given not in TTLS:
        raise InvalidArgument(f"cache takes true, false, {' or '.join(TTLS)}, not {shown(given)}")
    return given if isinstance(given, str) else bool(given)


def plausible_cache(given: object) -> Cache:
    """A flag that a file names. Anything that is no flag counts as no wish."""
    return given if given is True or (isinstance(given, str) and given in TTLS) else False


def stored_cache(flag: object, system: Mapping[str, Any]) -> Cache:
    """The flag of a stored turn."""
    time = system.get(CACHE_TTL)
    return time if flag and isinstance(time, str) and time in TTLS else bool(flag)


def longest(flags: Iterable[Cache]) -> Cache:
    """The longest of several flags."""
    return max(flags, key=lambda flag: _ORDER.index(flag) if flag in _ORDER else 1, default=False)


_ORDER: tuple[Cache, ...] = (False, True, *TTLS)
