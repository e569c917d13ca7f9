"""Send one request. It is retried until the first byte of an answer arrives, and never after.

No redirect is followed. No cookie, connection or key is kept.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from headish.calls.answers import Call, Exchange, Limits
from headish.calls.clouds.credentials import find_credentials
from headish.calls.deadline import Deadline, Timeouts
from headish.calls.headers import check_headers, find_secrets, write_headers
from headish.calls.keys import refuse_readable
from headish.calls.redaction import Redactor
from headish.calls.refusals import check_answer
from headish.calls.routes import find_route
from headish.errors import (
    CallError,
    CallRefused,
    InvalidAddress,
    InvalidArgument,
    InvalidContent,
    TimedOut,
    Unreachable,
)
from headish.limits import RETRY_AFTER_LIMIT_SECONDS
from headish.providers.clouds import Cloud
from headish.values.checks.addresses import Address
from headish.values.checks.doors import an, door

if TYPE_CHECKING:
    import httpx2

Told = Callable[[int, float, CallError], None]
"""Called before each wait with the number of the attempt that failed, the seconds until the next, and the error."""

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 8.0
"""The waits double from the first to the longest. Source: anthropic 2.12.0 and openai 3.54.0, ``_constants.py``."""


@door(cloud=an(Cloud))
def open_call(
    provider: str,
    body: Mapping[str, Any],
    *,
    model: str | None = None,
    stream: bool = True,
    base_url: str | None = None,
    key_env: str | None = None,
    headers: Mapping[str, str] | None = None,
    cloud: Cloud | None = None,
    timeouts: Timeouts = Timeouts(),
    limits: Limits = Limits(),
    attempts: int = 4,
    told: Told | None = None,
    transport: httpx2.BaseTransport | None = None,
) -> Call:
    """Send a request's body, as it is, and return the answer once it begins.

    ``model`` and ``stream`` choose the address where a provider's address depends on them (Gemini); for the others the
    body says both. ``cloud`` is who serves the model instead of its provider: the address, the credentials and parts of
    the body are that cloud's. ``headers`` are added, and replace those that headish would send, the key's header
    included.
    Raises: every CallError except Interrupted; InvalidAddress; InvalidArgument; InvalidContent for a body
    that is no JSON; UnknownFormat for the provider.
    """
    if attempts < 1:
        raise InvalidArgument("a call needs at least one attempt")
    route = find_route(provider, model=model, base_url=base_url, cloud=cloud, stream=stream)
    address = route.address
    given = check_headers(headers or {})
    credentials = find_credentials(route, key_env, given)
    secrets = find_secrets(route.endpoint, given)
    if secrets:
        refuse_readable(address)
    written = write_headers(route.endpoint, None, stream=stream) | credentials.headers | given
    dressed, sent = route.dress(body, written)
    content = _write_body(dressed)
    with ExitStack() as resources:
        deadline = Deadline(timeouts.total_seconds)
        resources.callback(deadline.cancel)
        exchange = Exchange(
            provider=provider,
            origin=address.origin,
            timeouts=timeouts,
            limits=limits,
            deadline=deadline,
            redactor=Redactor([*secrets, *credentials.secrets]),
            signer=credentials.signer,
        )
        client = resources.enter_context(_open_client(exchange, address, transport))
        response = _send(exchange, client, _build_request(client, route.url, sent, content, exchange), attempts, told)
        resources.callback(response.close)
        return Call(exchange, response, resources.pop_all())


def _send(
    exchange: Exchange, client: httpx2.Client, request: httpx2.Request, attempts: int, told: Told | None
) -> httpx2.Response:
    """Send the request until an answer begins. A loop: a retry library needs longer hooks for the same decisions."""
    attempt = 1
    while True:
        try:
            return _try_once(exchange, client, request)
        except CallError as error:
            delay_seconds = _choose_delay(error, attempt)
            remaining_seconds = exchange.deadline.remaining_seconds
            too_late = remaining_seconds is not None and delay_seconds >= remaining_seconds
            if attempt == attempts or not error.transient or delay_seconds > RETRY_AFTER_LIMIT_SECONDS or too_late:
                raise
            if told is not None:
                told(attempt, delay_seconds, error)
        time.sleep(delay_seconds)
        attempt += 1


def _try_once(exchange: Exchange, client: httpx2.Client, request: httpx2.Request) -> httpx2.Response:
    import httpx2

    provider, timeouts = exchange.provider, exchange.timeouts
    if exchange.signer is not None:
        signed = exchange.signer.sign(request.method, str(request.url), request.headers, request.content)
        request.headers.update(signed)
    try:
        response = client.send(request, stream=True)
    except httpx2.RequestError as error:
        if exchange.deadline.passed:
            raise exchange.overdue() from None
        if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout):
            # Not retried: the provider has the request, and may be working on it and charging for it.
            raise TimedOut(provider, timeouts.read_seconds, "no byte of an answer came") from None
        reason = exchange.redactor.show(str(error)) or type(error).__name__
        raise Unreachable(provider, exchange.origin, reason) from None
    try:
        check_answer(provider, response, exchange.redactor)
    except BaseException as error:
        response.close()
        if exchange.signer is not None and isinstance(error, CallRefused):
            raise exchange.signer.explain(error, response.headers) from None
        raise
    return response


def _choose_delay(error: CallError, attempt: int) -> float:
    """What the provider asks for. Else the delay doubles each time, less up to a quarter so that callers spread."""
    if isinstance(error, CallRefused) and error.retry_after_seconds is not None:
        return error.retry_after_seconds
    longest = min(FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10), LONGEST_DELAY_SECONDS)
    return longest * (1 - 0.25 * random.random())  # noqa: S311


def _open_client(exchange: Exchange, address: Address, transport: httpx2.BaseTransport | None) -> httpx2.Client:
    try:
        import httpx2
    except ImportError:
        raise InvalidArgument("calling a provider needs the extra: pip install 'headish[call]'") from None
    timeouts = exchange.timeouts
    in_the_clear = address.scheme == "http" and address.is_loopback
    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(timeouts.read_seconds, connect=timeouts.connect_seconds),
            # A request in the clear to this machine must not pass through a proxy on another one. It needs no
            # certificates either: reading them takes longer than a small model takes to answer.
            trust_env=not in_the_clear,
            verify=not in_the_clear,
            transport=transport,
        )
    except (ImportError, ValueError) as error:
        # For example SOCKS without its package. httpx2 masks the password of a proxy.
        raise Unreachable(exchange.provider, exchange.origin, f"the proxy cannot be used: {error}") from None


def _build_request(
    client: httpx2.Client, url: str, headers: dict[str, str], content: bytes, exchange: Exchange
) -> httpx2.Request:
    import httpx2

    try:
        request = client.build_request("POST", url, headers=headers, content=content)
    except httpx2.InvalidURL as error:
        raise InvalidAddress(exchange.origin, str(error)) from None
    request.extensions["trace"] = exchange.deadline.trace
    return request


def _write_body(body: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise InvalidContent("a request", "a lone surrogate has no UTF-8") from None
    except (TypeError, RecursionError) as error:
        raise InvalidContent("a request", str(error)) from None
