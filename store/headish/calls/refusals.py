"""Turn a server's refusal into an error that shows no key and at most a few lines of the server's text."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

from headish.calls.redaction import Redactor
from headish.errors import CallRefused, Redirected, UnreadableAnswer
from headish.values.limits import REFUSAL_LIMIT_BYTES

if TYPE_CHECKING:
    import httpx2

_BEGINNING_CHARACTERS = 200
_TRANSIENT_STATUSES = frozenset({408, 409, 429})
"""Every status from 500 on is one too. Source: anthropic 2.12.0 and openai 3.54.0, ``_base_client._should_retry``."""
_READABLE_KINDS = frozenset(
    {"", "text/event-stream", "application/jsonl", "application/x-jsonlines", "application/vnd.amazon.eventstream"}
)
"""Every kind that ends in ``json`` is one too. Without a content type the reader of events decides."""
_MESSAGE_PATHS = (("error", "message"), ("message",), ("Message",), ("error",), ("detail",))
"""Where providers and the servers that imitate them put the sentence for people."""


def check_answer(provider: str, response: httpx2.Response, redactor: Redactor) -> None:
    """Refuse a response that is not an answer. Reads only its beginning.

    Raises: CallRefused; Redirected; UnreadableAnswer.
    """
    if response.status_code >= 400:
        raise _make_refusal(provider, response, redactor)
    if response.status_code >= 300:
        location = redactor.show(response.headers.get("location", ""), _BEGINNING_CHARACTERS)
        raise Redirected(provider, response.status_code, location)
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    # headish asks for no encoding and unpacks none, because a few bytes could become gigabytes.
    if encoding not in ("", "identity"):
        raise UnreadableAnswer(provider, f"the answer is encoded as {redactor.show(encoding, 40)!r}, unasked")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _READABLE_KINDS and not kind.endswith("json"):
        beginning = redactor.show(_read_beginning(response).decode(errors="replace"), _BEGINNING_CHARACTERS)
        shown = redactor.show(kind, 80)
        raise UnreadableAnswer(provider, f"the answer is {shown!r}, neither JSON nor events; it begins {beginning!r}")


def _make_refusal(provider: str, response: httpx2.Response, redactor: Redactor) -> CallRefused:
    message = _find_message(_read_beginning(response))
    is_page = message.lstrip()[:1] == "<"  # an HTML page of a proxy, of which the title is enough
    text = redactor.show(message, _BEGINNING_CHARACTERS) if is_page else redactor.show(message)
    advice = response.headers.get("x-should-retry")
    status = response.status_code
    return CallRefused(
        provider,
        status,
        text or redactor.show(response.reason_phrase, 80) or "no reason given",
        read_retry_after(response.headers.get("retry-after-ms"), response.headers.get("retry-after")),
        transient=advice == "true" or (advice != "false" and (status in _TRANSIENT_STATUSES or status >= 500)),
    )


def _read_beginning(response: httpx2.Response) -> bytes:
    """The first bytes of a body, as many as arrive; empty for an encoded body."""
    import httpx2

    data = bytearray()
    if response.headers.get("content-encoding", "identity").strip().lower() == "identity":
        with suppress(httpx2.HTTPError):
            for chunk in response.iter_raw():
                data += chunk
                if len(data) >= REFUSAL_LIMIT_BYTES:
                    break
    return bytes(data[:REFUSAL_LIMIT_BYTES])


def _find_message(data: bytes) -> str:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode(errors="replace")
    # Gemini sends its error as an array.
    if isinstance(value, list) and value:
        value = value[0]
    for path in _MESSAGE_PATHS:
        found = _follow(value, path)
        if isinstance(found, str) and found:
            return found
    return data.decode(errors="replace")


def _follow(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def read_retry_after(milliseconds: str | None, text: str | None) -> float | None:
    """The seconds that the server asks to wait: ``retry-after-ms``, else ``Retry-After`` in seconds or as a date.

    None if it asks for no wait, or for a time that has passed. Source: RFC 9110 §10.2.3; the SDKs for the milliseconds.
    """
    seconds = _read_number(milliseconds, 1000) or _read_number(text, 1) or _read_date(text)
    return seconds if seconds is not None and seconds > 0 else None


def _read_number(text: str | None, divisor: int) -> float | None:
    try:
        number = float(text or "") / divisor
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _read_date(text: str | None) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
        # A date of unknown zone (-0000) is in UTC.
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
