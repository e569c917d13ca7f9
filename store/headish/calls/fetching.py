"""Fetch an answer that its provider keeps: one that was asked to be stored, or that is made in the background."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headish.calls.deadline import Timeouts
from headish.calls.endpoints import find_endpoint
from headish.calls.remote import Remote
from headish.errors import InvalidArgument
from headish.providers.clouds import Cloud
from headish.providers.registry import find_provider

KEEPING = frozenset(("openai_responses",))
"""The providers that keep answers under an id. Source: openai 3.54.0, ``resources/responses``, read on 2026-11-22."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


def fetch_answer(
    provider: str,
    id: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    headers: Mapping[str, str] | None = None,
    cloud: Cloud | None = None,
    timeouts: Timeouts = Timeouts(),
) -> Mapping[str, Any]:
    """The answer that a provider keeps under an id, as it is now; it holds ``***`` for the key of the call.

    Raises: InvalidArgument for a provider that keeps none, or for what is no id; CallError (CallRefused, with status
    404, where there is none of this id); InvalidAddress.
    """
    if provider not in KEEPING:
        raise InvalidArgument(f"{provider} keeps no answers: {', '.join(sorted(KEEPING))} does")
    if not _ID.fullmatch(id):  # which the server gave: it must not leave its place in the address
        raise InvalidArgument(f"{id[:80]!r} cannot be the id of an answer")
    remote = Remote(
        provider, model=None, base_url=base_url, key_env=key_env, headers=headers, cloud=cloud, timeouts=timeouts
    )
    found = remote.get(f"{find_endpoint(provider).path}/{id}")
    return remote.redactor.clean(found, find_provider(provider).reader.words)
