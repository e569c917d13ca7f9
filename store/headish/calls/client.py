"""Send one request. headish retries it until the first byte of an answer arrives, and never after.

It follows no redirect. It keeps the connection for the next call to the same host, but no cookie and no key.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from headish.calls.answers import Call, Exchange, Limits
from headish.calls.clouds.credentials import find_credentials
from headish.calls.connections import IdleClient, borrowed
from headish.calls.deadline import Deadline, Stop, Timeouts
from headish.calls.headers import check_headers, find_secrets, write_headers
from headish.calls.keys import refuse_readable
from headish.calls.redaction import Redactor
from headish.calls.refusals import check_answer
from headish.calls.routes import find_route
from headish.errors import (
    CallError,
    CallRefused,
    ConnectTimedOut,
    FirstByteTimedOut,
    InvalidAddress,
    InvalidArgument,
    InvalidContent,
    Unreachable,
)
from headish.providers.clouds import Cloud
from headish.values.checks.addresses import Address
from headish.values.checks.doors import POSITIVE, an, door
from headish.values.limits import RETRY_AFTER_LIMIT_SECONDS

if TYPE_CHECKING:
    import httpx2

Told = Callable[[int, float, CallError], None]
"""Called before each wait with the number of the failed attempt, the seconds until the next, and the error."""

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 8.0
"""The waits double from the first to the longest. Source: anthropic 2.12.0 and openai 3.54.0, ``_constants.py``."""


@door(cloud=an(Cloud), attempts=POSITIVE)
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
    stop: Stop | None = None,
    transport: httpx2.BaseTransport | None = None,
) -> Call:
    """Send a request's body, unchanged, and return the answer once it begins.

    ``model`` and ``stream`` choose the address of a provider whose address depends on them (Gemini); for the others the
    body has both. ``cloud`` serves the model in place of its provider: the address, the credentials and parts of the
    body are then that cloud's. ``headers`` are added, and replace those that headish would send, including the header
    of the key. ``stop`` ends the call from another thread, as does ``Call.cancel``.
    Raises: every CallError except Interrupted; InvalidAddress; InvalidArgument; InvalidContent for a body that is not
    JSON; UnknownFormat for the provider.
    """
    if attempts < 1:
        raise InvalidArgument("a call needs at least one attempt")
    route = find_route(provider, model=model, base_url=base_url, cloud=cloud, stream=stream)
    address = route.address
    caller_headers = check_headers(headers or {})
    credentials = find_credentials(route, key_env, caller_headers)
    secrets = find_secrets(route.endpoint, caller_headers)
    if secrets:
        refuse_readable(address)
    all_headers = write_headers(route.endpoint, stream=stream) | credentials.headers | caller_headers
    sent_body, sent_headers = route.dress(body, all_headers)
    content = _write_body(sent_body)
    stop = stop or Stop()
    with ExitStack() as resources:
        deadline = Deadline(timeouts, stop)
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
        idle_client = resources.enter_context(_open_client(exchange, address, transport))
        request = _build_request(idle_client.client, route.url, sent_headers, content, exchange)
        response = _send(exchange, idle_client, request, attempts, told)
        resources.callback(response.close)
        # From here on the call closes them, not this block.
        return Call(exchange, response, resources.pop_all(), stop)


def _send(
    exchange: Exchange, kept: IdleClient, request: httpx2.Request, attempts: int, told: Told | None
) -> httpx2.Response:
    """Send the request until an answer begins."""
    # A loop: with a retry library, hooks for the same decisions would be longer.
    attempt = 1
    while True:
        try:
            return _send_once(exchange, kept, request)
        except CallError as error:
            delay_seconds = choose_delay(error, attempt)
            remaining_seconds = exchange.deadline.remaining_seconds
            too_late = remaining_seconds is not None and delay_seconds >= remaining_seconds
            if attempt == attempts or not error.transient or delay_seconds > RETRY_AFTER_LIMIT_SECONDS or too_late:
                raise
            if told is not None:
                told(attempt, delay_seconds, error)
        exchange.deadline.pause(delay_seconds)
        attempt += 1


def _send_once(exchange: Exchange, kept: IdleClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request. Returns its answer once it begins and is not a refusal. Raises: CallError."""
    import httpx2

    deadline = exchange.deadline
    was_used, kept.is_used = kept.is_used, False
    if exchange.signer is not None:
        signed = exchange.signer.sign(request.method, str(request.url), request.headers, request.content)
        # For each attempt: a signature holds the time, and clouds refuse an old one.
        request.headers.update(signed)
    deadline.begin()
    try:
        if deadline.ended_by is not None:
            raise exchange.ended()
        response = kept.client.send(request, stream=True)
    except httpx2.RequestError as error:
        if was_used and deadline.ended_by is None and not isinstance(error, httpx2.TimeoutException):
            # The server closed the kept connection meanwhile: another attempt at once, which counts as the same one.
            return _send_once(exchange, kept, request)
        raise _as_call_error(exchange, error) from None
    try:
        check_answer(exchange.provider, response, exchange.redactor)
    except httpx2.RequestError as error:
        response.close()
        raise _as_call_error(exchange, error) from None
    except BaseException as error:
        # Interruptions, too, must not leave the answer open with its connection.
        response.close()
        if exchange.signer is not None and isinstance(error, CallRefused):
            raise exchange.signer.explain(error, response.headers) from None
        raise
    finally:
        deadline.heard()
    return response


def _as_call_error(exchange: Exchange, error: httpx2.RequestError) -> CallError:
    """The error for a request that failed before an answer began."""
    import httpx2

    provider, timeouts = exchange.provider, exchange.timeouts
    if exchange.deadline.ended_by is not None:
        return exchange.ended()
    if isinstance(error, httpx2.ConnectTimeout):
        return ConnectTimedOut(provider, exchange.origin, timeouts.connect_seconds)
    if isinstance(error, httpx2.TimeoutException):
        # Not retried: the provider has the request, and may be working on it and charging for it.
        return FirstByteTimedOut(provider, timeouts.first_byte_seconds, "no byte of an answer came")
    return Unreachable(provider, exchange.origin, exchange.redactor.reason(error))


def choose_delay(error: CallError, attempt: int) -> float:
    """The seconds to wait before the next attempt: as many as the provider asks for. Otherwise the delay doubles each
    time, minus up to a quarter at random, so that callers spread."""
    if isinstance(error, CallRefused) and error.retry_after_seconds is not None:
        return error.retry_after_seconds
    longest = min(FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10), LONGEST_DELAY_SECONDS)
    return longest * (1 - 0.25 * random.random())  # noqa: S311


def import_client() -> Any:
    """The HTTP client. Raises: InvalidArgument without the extra."""
    try:
        import httpx2
    except ImportError:
        raise InvalidArgument("calling a provider needs the extra: pip install 'headish[call]'") from None
    return httpx2


@contextmanager
def _open_client(
    exchange: Exchange, address: Address, transport: httpx2.BaseTransport | None = None
) -> Iterator[IdleClient]:
    """A client for a server; its connection is kept for the next call. Raises: InvalidArgument without the extra;
    Unreachable."""
    httpx2 = import_client()
    with ExitStack() as resources:
        try:
            if transport is None:
                idle_client = resources.enter_context(borrowed(address, exchange.deadline))
            else:
                idle_client = IdleClient(resources.enter_context(httpx2.Client(transport=transport, trust_env=False)))
        except (ImportError, ValueError) as error:
            # For example SOCKS without its package. httpx2 masks the password of a proxy.
            raise Unreachable(exchange.provider, exchange.origin, f"the proxy cannot be used: {error}") from None
        yield idle_client


def _build_request(
    client: httpx2.Client, url: str, headers: Mapping[str, str], content: bytes, exchange: Exchange
) -> httpx2.Request:
    """A request under the deadline of its exchange. Raises: InvalidAddress."""
    import httpx2

    timeouts = exchange.timeouts
    try:
        # The deadline ends every wait except that for a connection. httpx2's own limit for a read is longer, so that it
        # never comes first.
        longest = max(timeouts.first_byte_seconds, timeouts.silence_seconds) + 5
        limits = httpx2.Timeout(longest, connect=timeouts.connect_seconds)
        request = client.build_request("POST", url, headers=dict(headers), content=content, timeout=limits)
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
