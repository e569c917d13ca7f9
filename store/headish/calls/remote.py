"""The rest of a provider's API: get small JSON documents, upload one file, download files of any length line by line.

A whole answer that a provider keeps (stored on request, or made in the background) is such a document. headish repeats
a read if that may help. It does not repeat a request that creates something, once the provider may have it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from headish.calls.client import choose_delay, import_client
from headish.calls.clouds.credentials import find_credentials
from headish.calls.deadline import Timeouts
from headish.calls.endpoints import find_endpoint
from headish.calls.headers import check_headers, find_secrets, write_headers
from headish.calls.keys import refuse_readable
from headish.calls.redaction import Redactor
from headish.calls.refusals import check_answer
from headish.calls.routes import find_route
from headish.errors import (
    CallError,
    CallRefused,
    CallTimedOut,
    FirstByteTimedOut,
    Interrupted,
    InvalidAddress,
    InvalidArgument,
    SilenceTimedOut,
    TimedOut,
    Unreachable,
    UnreadableAnswer,
)
from headish.providers.clouds import Cloud
from headish.providers.events.eventjson import Refusal, decode_event
from headish.providers.registry import find_provider
from headish.values.limits import (
    BATCH_RESULTS_LIMIT_BYTES,
    EVENT_LIMIT_BYTES,
    REPLY_LIMIT_BYTES,
    RETRY_AFTER_LIMIT_SECONDS,
)

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 4
TOO_LONG = f"a line of more than {EVENT_LIMIT_BYTES:,} bytes"
# Fixed: the CR LF before it cannot occur in a file of JSON lines, the only kind that is sent.
_BOUNDARY = "headish-3f0c2f1a7d5e4b6f"


class Remote:
    """One provider, compatible server or cloud, with the credentials for it, which are looked up once."""

    def __init__(
        self,
        provider: str,
        *,
        model: str | None,
        base_url: str | None = None,
        key_env: str | None = None,
        headers: Mapping[str, str] | None = None,
        cloud: Cloud | None = None,
        timeouts: Timeouts = Timeouts(),
    ) -> None:
        route = find_route(provider, model=model, base_url=base_url, cloud=cloud, stream=False)
        caller_headers = check_headers(headers or {})
        credentials = find_credentials(route, key_env, caller_headers)
        secrets = find_secrets(route.endpoint, caller_headers)
        if secrets:
            refuse_readable(route.address)
        self.provider, self.timeouts = provider, timeouts
        self.redactor = Redactor([*secrets, *credentials.secrets])
        self._address, self._route = route.address, route
        self._headers = write_headers(route.endpoint, stream=False) | credentials.headers | caller_headers

    def get(self, path: str) -> dict[str, Any]:
        """Get a JSON document, with retries. Raises: CallError."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._open("GET", path) as response:
                    return self._read_json(response)
            except CallError as error:
                self._wait(error, attempt)
        raise AssertionError("the last attempt returns or raises")

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create something. Returns the provider's record of it. Raises: CallError; see ``may_exist``."""
        with self._open("POST", path, msgspec.json.encode(body)) as response:
            return self._read_json(response)

    def post_file(self, path: str, name: str, data: bytes, fields: Mapping[str, str]) -> dict[str, Any]:
        """Create a file by a form, as ``post`` does."""
        parts = [
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
            for key, value in fields.items()
        ]
        head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        parts.append(f"{head}Content-Type: application/jsonl\r\n\r\n")
        content = "".join(parts).encode() + data + f"\r\n--{_BOUNDARY}--\r\n".encode()
        kind = {"content-type": f"multipart/form-data; boundary={_BOUNDARY}"}
        with self._open("POST", path, content, kind) as response:
            return self._read_json(response)

    def upload(self, path: str, about: Mapping[str, Any], data: bytes) -> dict[str, Any]:
        """Create a file at Google, as ``post`` does. Google's first answer names the address that takes the bytes.

        That address has to be on the same server, and gets no key, because it contains one of its own. Source:
        google-genai 3.4.0, ``files.upload`` and ``_api_client._upload_fd``.
        """
        start = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(data)),
            "x-goog-upload-header-content-type": "application/jsonl",
        }
        with self._open("POST", path, msgspec.json.encode(about), start) as response:
            url = response.headers.get("x-goog-upload-url", "")
        if not url.startswith(f"{self._address.origin}/"):
            raise UnreadableAnswer(self.provider, "the answer names no address of the same server for the file")
        finalize = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
        with self._open("POST", path, data, finalize, url=url) as response:
            return self._read_json(response)

    def lines(self, path: str) -> Iterator[bytes | None]:
        """The lines of a file, each without its end; the last one even if nothing ends it. None for a line that is too
        long; reading goes on after it.

        Memory: one line. Raises: CallError, also in the middle: the earlier lines stay valid.
        """
        with self._open("GET", path, headers={"accept": "*/*"}) as response:
            line = _Line()
            for chunk in self._read(response, BATCH_RESULTS_LIMIT_BYTES):
                *whole, rest = chunk.split(b"\n")
                for part in whole:
                    line.add(part)
                    yield line.take()
                line.add(rest)
            last = line.take()
            if last != b"":
                yield last

    def _wait(self, error: CallError, attempt: int) -> None:
        """Wait before the next attempt. Raises: the error, if another attempt would not help."""
        delay_seconds = choose_delay(error, attempt)
        if attempt == ATTEMPTS or not error.transient or delay_seconds > RETRY_AFTER_LIMIT_SECONDS:
            raise error
        time.sleep(delay_seconds)

    @contextmanager
    def _open(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        url: str | None = None,
    ) -> Iterator[httpx2.Response]:
        """Send a request, and yield its response. With ``url``, it goes there in place of the path, without the key and
        the other usual headers."""
        # Never on a kept connection: if the server had closed it, the request would have to be sent again, and a batch
        # might be made twice.
        httpx2 = import_client()
        in_the_clear = self._address.is_in_the_clear
        beside = dict(headers or {}) if url is not None else {**self._headers, **(headers or {})}
        url = url or self._route.beside(path)
        timeout = httpx2.Timeout(self._silence_seconds, connect=self.timeouts.connect_seconds)
        with httpx2.Client(timeout=timeout, trust_env=not in_the_clear, verify=not in_the_clear) as client:
            try:
                request = client.build_request(method, url, headers=beside, content=content)
            except httpx2.InvalidURL as error:  # of a megabyte, say: servers choose the ids in it
                raise InvalidAddress(self._address.origin, self.redactor.reason(error)) from None
            try:
                response = client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                raise Unreachable(self.provider, self._address.origin, self.redactor.reason(error)) from None
            except httpx2.TimeoutException:
                raise FirstByteTimedOut(self.provider, self._silence_seconds, "no byte of an answer came") from None
            except httpx2.RequestError as error:
                raise Interrupted(self.provider, f"the request broke off: {self.redactor.reason(error)}") from None
            try:
                if response.status_code >= 300:
                    check_answer(self.provider, response, self.redactor)
                encoding = response.headers.get("content-encoding", "identity").strip().lower()
                if encoding not in ("", "identity"):
                    shown = self.redactor.show(encoding, 40)
                    raise UnreadableAnswer(self.provider, f"the answer is encoded as {shown!r}, unasked")
                yield response
            finally:
                response.close()

    def _read_json(self, response: httpx2.Response) -> dict[str, Any]:
        data = b"".join(self._read(response, REPLY_LIMIT_BYTES))
        try:
            # Read like an event: a lone surrogate in one answer must not hide the others.
            return decode_event(data)
        except Refusal:
            beginning = self.redactor.show(data[:200].decode(errors="replace"), 80)
            raise UnreadableAnswer(self.provider, f"the answer is not a JSON object; it begins {beginning!r}") from None

    def _read(self, response: httpx2.Response, limit_bytes: int) -> Iterator[bytes]:
        httpx2 = import_client()
        received, begun = 0, time.monotonic()
        total = self.timeouts.total_seconds
        try:
            for chunk in response.iter_raw():
                received += len(chunk)
                if received > limit_bytes:
                    raise UnreadableAnswer(self.provider, f"the answer has more than {limit_bytes:,} bytes")
                # httpx2 limits only the silence between two chunks.
                if total is not None and time.monotonic() - begun > total:
                    raise CallTimedOut(self.provider, total, "the answer did not end")
                yield chunk
        except httpx2.TimeoutException:
            raise SilenceTimedOut(self.provider, self._silence_seconds, "no further byte came") from None
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise Interrupted(self.provider, f"the answer broke off: {self.redactor.reason(error)}") from None

    @property
    def _silence_seconds(self) -> float:
        """The limit for a read. No model answers here, so one number is enough."""
        return max(self.timeouts.first_byte_seconds, self.timeouts.silence_seconds)


class _Line:
    """A line that grows, up to a limit; longer ones take no memory."""

    def __init__(self) -> None:
        self._data: bytearray | None = bytearray()

    def add(self, part: bytes) -> None:
        if self._data is not None:
            self._data += part
            if len(self._data) > EVENT_LIMIT_BYTES:
                self._data = None

    def take(self) -> bytes | None:
        """Return the line, None if it was too long, and begin the next one."""
        line, self._data = None if self._data is None else bytes(self._data), bytearray()
        return line


def may_exist(error: BaseException) -> bool:
    """Whether something may have been created although its creation failed with this error."""
    # A server may fail after the creation, or its answer be lost; a refusal below 500 says that it created nothing.
    if isinstance(error, CallRefused):
        return error.status >= 500
    return isinstance(error, TimedOut | Interrupted | UnreadableAnswer) or not isinstance(error, Exception)


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
) -> Mapping[str, Any]:
    """The answer that a provider keeps under an id, in its present state, with ``***`` for the key of the call.

    Raises: InvalidArgument for a provider that keeps none, or for a malformed id; CallError (CallRefused with status
    404 if the id is unknown); InvalidAddress.
    """
    if provider not in KEEPING:
        raise InvalidArgument(f"{provider} keeps no answers: {', '.join(sorted(KEEPING))} does")
    if not _ID.fullmatch(id):  # a server chose it: it must not leave its place in the address
        raise InvalidArgument(f"{id[:80]!r} cannot be the id of an answer")
    remote = Remote(provider, model=None, base_url=base_url, key_env=key_env, headers=headers, cloud=cloud)
    answer = remote.get(f"{find_endpoint(provider).path}/{id}")
    return remote.redactor.clean(answer, find_provider(provider).reader.words)
