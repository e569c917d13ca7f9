"""Providers: a context window as the request that a provider accepts, and its answer as a reply.

The flow, which is also the way to read the code::

    window ──> ledger (calls and results paired) ──> mapping (blocks to parts) ──> request ──> Request
    events ──> reply (blocks grow, piece by piece) ──> Reply

Each provider has a package under its id, with a writer of requests and a reader of replies; ``shared`` is the common
part. All of it is pure: the same input gives the same output, and the input stays unchanged.

A name below is loaded when it is first used: most processes never ask a provider.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headish.providers.preparing import lint as lint
    from headish.providers.preparing import prepare_request as prepare_request
    from headish.providers.registry import PROVIDERS as PROVIDERS
    from headish.providers.shared.values import Delta as Delta
    from headish.providers.shared.values import Finding as Finding
    from headish.providers.shared.values import Note as Note
    from headish.providers.shared.values import Origin as Origin
    from headish.providers.shared.values import Reply as Reply
    from headish.providers.shared.values import Request as Request
    from headish.providers.shared.values import Settings as Settings
    from headish.providers.shared.values import Usage as Usage
    from headish.providers.stream import Stream as Stream
    from headish.providers.stream import parse_response as parse_response

_HOMES = {
    "preparing": ("lint", "prepare_request"),
    "registry": ("PROVIDERS",),
    "stream": ("Stream", "parse_response"),
    "shared.values": ("Delta", "Request", "Finding", "Note", "Origin", "Reply", "Settings", "Usage"),
}
__all__ = [
    "PROVIDERS",
    "Delta",
    "Finding",
    "Note",
    "Origin",
    "Reply",
    "Request",
    "Settings",
    "Stream",
    "Usage",
    "lint",
    "parse_response",
    "prepare_request",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value  # the next use finds it without this function
    return value
