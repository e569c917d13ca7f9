"""Fetch an answer that its provider keeps: one that was asked to be stored, or that is made in the background."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from headish.calls.answers import Call, Exchange, Limits
from headish.calls.client import build_request, open_client, send_once
from headish.calls.deadline import Deadline, Stop, Timeouts
from headish.calls.endpoints import find_endpoint
from headish.calls.headers import write_headers
from headish.calls.keys import find_key
from headish.calls.redaction import Redactor
from headish.errors import InvalidArgument, InvalidReply
from headish.values.checks.addresses import parse_address

KEEPING = frozenset(("openai_responses",))
"""The providers that keep answers under an id. Source: openai 3.54.0, ``resources/responses``, read on 2026-11-22."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


def fetch_answer(
    provider: str, id: str, *, base_url: str | None = None, key_env: str | None = None, timeouts: Timeouts = Timeouts()
) -> Mapping[str, Any]:
    """The answer that a provider keeps under an id, as it is now. It is asked once.

    Raises: InvalidArgument for a provider that keeps none, or for what is no id; CallError (CallRefused, with status
    404, where there is none of this id); InvalidReply; InvalidAddress.
    """
    if provider not in KEEPING:
        raise InvalidArgument(f"{provider} keeps no answers: {', '.join(sorted(KEEPING))} does")
    if not _ID.fullmatch(id):  # which the server gave: it must not leave its place in the address
        raise InvalidArgument(f"{id[:80]!r} cannot be the id of an answer")
    endpoint = find_endpoint(provider)
    address = endpoint.address if base_url is None else parse_address(base_url)
    key = find_key(provider, base_url=base_url, key_env=key_env)
    stop = Stop()
    with ExitStack() as resources:
        deadline = Deadline(timeouts, stop)
        resources.callback(deadline.cancel)
        exchange = Exchange(
            provider=provider,
            origin=address.origin,
            timeouts=timeouts,
            limits=Limits(),
            deadline=deadline,
            redactor=Redactor([key or ""]),
        )
        kept = resources.enter_context(open_client(exchange, address))
        url, headers = f"{address.origin}{address.path}{endpoint.path}/{id}", write_headers(endpoint, key, stream=False)
        response = send_once(exchange, kept, build_request(kept.client, "GET", url, headers, None, exchange))
        resources.callback(response.close)
        found = list(Call(exchange, response, resources.pop_all(), stop))
    if len(found) != 1:
        raise InvalidReply(f"the answer of {provider}", f"it holds {len(found)} records, and not one", 1)
    return found[0]
