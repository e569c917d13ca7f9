"""Count wrong tokens, so that a caller who tries many must wait.

A right token is taken all the same: programs of one machine share an address, and one of them with an old token must
not lock the others out. Nobody guesses 256 bits, however often he may try.
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
        """Count a wrong one at ``now``, in seconds of a clock that only goes on."""
        tries = self._by_peer.pop(peer, None) or deque(maxlen=WRONG_LIMIT)
        tries.append(now)
        self._by_peer[peer] = tries
        if len(self._by_peer) > PEERS_LIMIT:
            del self._by_peer[next(iter(self._by_peer))]

    def wait_seconds(self, peer: str, now: float) -> float:
        """How long the peer has to wait with a further wrong one; 0 if it need not."""
        tries = self._by_peer.get(peer)
        if tries is None or len(tries) < WRONG_LIMIT:
            return 0.0
        return max(0.0, tries[0] + MINUTE_SECONDS - now)
