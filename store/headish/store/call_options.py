"""The options of a call, which every verb takes that calls a provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from headish.calls import Stop, Timeouts, Told


class CallOptions(TypedDict, total=False):
    """How a provider is called: the arguments of ``headish.calls.open_call``.

    ``timeouts`` may be a number: how many seconds the provider may be silent, before its first byte and after it; or a
    mapping with some of ``connect``, ``first_byte``, ``silence`` and ``total``. The pointer's own timeouts fill in what
    they leave out; without either, the whole call ends after an hour. ``stop`` ends the call from another thread.
    """

    base_url: str | None
    key_env: str | None
    headers: Mapping[str, str] | None
    told: Told | None
    timeouts: Timeouts | Mapping[str, float] | float | None
    attempts: int
    stop: Stop | None
