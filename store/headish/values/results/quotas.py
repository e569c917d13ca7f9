"""The limits of a space, and how much it holds."""

from __future__ import annotations

from headish.values.results.plain import PlainResult


class Quota(PlainResult, frozen=True):
    """What a space may hold, and what it holds. A limit is None if there is none.

    ``turns`` counts every turn that was stored, ``bytes`` what the payloads of these turns add up to as they were
    given, however often the same bytes came. An erasure gives nothing back.
    """

    limit_turns: int | None
    limit_bytes: int | None
    turns: int
    bytes: int
