"""Count wrong tokens, so that a caller who tries many must wait.

A right token is always accepted: programs of one machine share an address, and one of them with an old token must not
lock the others out. Nobody guesses 256 bits, however often they try.
"""

from __future__ import annotations

from collections import deque

WRONG_LIMIT = 20
"""How many wrong tokens or codes a peer may show in a minute."""
MINUTE_SECONDS = 60.0
PEERS_LIMIT = 10_000
"""How many peers are remembered; the oldest is forgotten first."""


class WrongTries:
    """The wrong tokens of each peer in the last minute. Not for several threads."""

    def __init__(self) -> None:
        self._by_peer: dict[str, deque[float]] = {}

    def add(self, peer: str, now: float) -> None:
        """Count a wrong one at ``now``, in seconds of a monotonic clock."""
        # Taken out and put in again: the first of the dict is then the peer that was quiet for longest.
        tries = self._by_peer.pop(peer, None) or deque(maxlen=WRONG_LIMIT)
        tries.append(now)
        self._by_peer[peer] = tries
        if len(self._by_peer) > PEERS_LIMIT:
            del self._by_peer[next(iter(self._by_peer))]

    def wait_seconds(self, peer: str, now: float) -> float:
        """How long the peer must wait before it may show another wrong one; 0 if it need not."""
        tries = self._by_peer.get(peer)
        if tries is None or len(tries) < WRONG_LIMIT:
            return 0.0
        return max(0.0, tries[0] + MINUTE_SECONDS - now)
