"""Calls: send a prepared request to its provider over HTTP, and yield the events of the answer one by one.

    with open_call("anthropic", request.body) as call:
        for event in call:
            …

``endpoints`` says where each provider is, ``keys`` which key may go there, ``client`` calls and tries again,
``answers`` reads, ``deadline`` ends what takes too long, ``connections`` stay open. Nothing here knows the store or
what an event means. A key goes to its provider's own host only, unless the caller names one for another address; no
error, repr or log shows a key.
"""

from __future__ import annotations

from headish.calls.answers import Call, Limits
from headish.calls.client import Told, open_call
from headish.calls.deadline import Stop, Timeouts
from headish.calls.endpoints import ENDPOINTS, Endpoint
from headish.calls.keys import find_key

__all__ = ["ENDPOINTS", "Call", "Endpoint", "Limits", "Stop", "Timeouts", "Told", "find_key", "open_call"]
