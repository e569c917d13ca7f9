"""Calls: send a prepared request to its provider over HTTP, and yield the events of the answer one by one.

    with open_call("anthropic", request.body) as call:
        for event in call:
            …

``endpoints`` has each provider's address, ``keys`` finds the key that may go there, ``client`` calls and tries again,
``answers`` reads the answer, ``deadline`` ends a call that takes too long, ``connections`` keeps idle connections.
Nothing here knows the store or the meaning of an event. A key goes only to its provider's own host, unless the caller
names a key for another address; no error, repr or log shows a key (ADR 0014).
"""

from __future__ import annotations

from headish.calls.answers import Call, Limits
from headish.calls.client import Told, open_call
from headish.calls.deadline import Stop, Timeouts
from headish.calls.endpoints import ENDPOINTS, Endpoint
from headish.calls.keys import find_key

__all__ = ["ENDPOINTS", "Call", "Endpoint", "Limits", "Stop", "Timeouts", "Told", "find_key", "open_call"]
