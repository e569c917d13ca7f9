"""Ask a server of headish over HTTP: each question is a POST, and the body that comes back is its answer.

The token goes only to the address that the user has named, over TLS or to this machine itself. No redirect is followed.
A question may be sent again, because the same question changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

from headish.calls.keys import ApiKey, first_key, named_place
from headish.calls.redaction import Redactor
from headish.calls.refusals import check_answer
from headish.errors import (
    CallError,
    CallRefused,
    InvalidAddress,
    InvalidArgument,
    InvalidKey,
    RemoteRefused,
    RemoteUnavailable,
)
from headish.values.access.tokens import is_token
from headish.values.checks.addresses import Address, parse_address
from headish.version import __version__

if TYPE_CHECKING:
    import httpx2

PATH = "/sync"
"""The path to use if a URL has none."""
MEDIA_TYPE = "application/x-headish-live"
CONNECT_SECONDS, SILENCE_SECONDS = 10.0, 60.0
"""headish gives up on a server that does not connect, takes no data or stays silent for so long."""
_CHUNK_BYTES = 64 * 1024


def check_server(url: str, key_env: str | None) -> None:
    """Check the URL of a server, and the place of its token. Raises: InvalidAddress, InvalidArgument."""
    _read_address(url)
    if key_env is None:
        raise InvalidArgument(
            "a server is asked with a token: --key-env (key_env=…) names the environment variable that holds it, or "
            "keyring:NAME"
        )
    if is_token(key_env):
        raise InvalidArgument(
            "key_env says where the token is, and is not the token itself: it would be kept and shown"
        )
    named_place(key_env)


def _read_address(url: str) -> Address:
    address = parse_address(url)
    if not address.is_private:
        raise InvalidAddress(address.origin, "history and token would travel unencrypted: use https")
    return address


def _find_token(url: str, key_env: str) -> ApiKey:
    """The token at a place. A value of any other form is not sent to a server. Raises: MissingKey, InvalidKey."""
    token, place = first_key(url, (key_env,))
    if not is_token(token):
        raise InvalidKey(url, place, "it is not a token of headish, as 'headish token add' prints it")
    return token


class SyncServer:
    """A connection to a server. Raises: InvalidAddress, MissingKey, InvalidKey; InvalidArgument without the extra."""

    def __init__(self, url: str, key_env: str) -> None:
        self.url = url
        address = _read_address(url)
        self._target = f"{address.origin}{address.path or PATH}"
        token = _find_token(url, key_env)
        self._redactor = Redactor([token])
        self._headers = {
            "authorization": ApiKey(f"Bearer {token}"),
            "accept": MEDIA_TYPE,
            "accept-encoding": "identity",  # its frames are compressed
            "content-type": MEDIA_TYPE,
            "user-agent": f"headish/{__version__}",
        }
        self._client = _make_client(address)
        self._answer: PostedAnswer | None = None
        self._was_asked = False

    def __enter__(self) -> SyncServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._answer is not None:
            self._answer.close()
        self._client.close()

    def post(self, question: BinaryIO, size_bytes: int) -> PostedAnswer:
        """Send a whole file as the question, and return the answer. This ends the previous answer.

        Raises: RemoteUnavailable, RemoteRefused.
        """
        if self._answer is not None:
            self._answer.end()
            self._answer = None
        response = self._send(question, size_bytes, may_repeat=self._was_asked)
        self._was_asked = True
        self._answer = answer = PostedAnswer(self.url, response, self._redactor)
        self._check(response)
        return answer

    def show(self, text: str) -> str:
        """A text of the server, on one line and without the token."""
        return self._redactor.show(text)

    def _send(self, question: BinaryIO, size_bytes: int, *, may_repeat: bool) -> httpx2.Response:
        import httpx2

        question.seek(0)
        headers = {**self._headers, "content-length": str(size_bytes)}  # so that proxies need not guess
        request = self._client.build_request("POST", self._target, headers=headers, content=_chunks_of(question))
        try:
            return self._client.send(request, stream=True)
        except httpx2.TimeoutException as error:
            waited = CONNECT_SECONDS if isinstance(error, httpx2.ConnectTimeout) else SILENCE_SECONDS
            raise RemoteUnavailable(self.url, f"it said nothing for {waited:g} seconds") from None
        except httpx2.RequestError as error:
            if may_repeat and not isinstance(error, httpx2.ConnectError):
                return self._send(question, size_bytes, may_repeat=False)  # the server closed the kept connection
            raise RemoteUnavailable(self.url, self._redactor.reason(error)) from None

    def _check(self, response: httpx2.Response) -> None:
        """Check that a store of headish answers. Raises: RemoteUnavailable, RemoteRefused."""
        if response.status_code >= 300:
            try:
                check_answer(self.url, response, self._redactor)
            except CallRefused as error:
                if error.status >= 500 or error.status in (408, 429):
                    raise RemoteUnavailable(self.url, error.reason) from None
                raise RemoteRefused(self.url, f"status {error.status}", error.message) from None
            except CallError as error:
                raise RemoteUnavailable(self.url, error.reason) from None
        headers = response.headers
        if headers.get("content-type") != MEDIA_TYPE or headers.get("content-encoding", "identity") != "identity":
            shown = self._redactor.show(headers.get("content-type", "nothing"), 80)
            raise RemoteUnavailable(self.url, f"no store of headish answers there, but {shown}")


class PostedAnswer:
    """The body of an answer while it arrives, as a file that is read once. ``ended``: all of it was read.

    Raises: RemoteUnavailable if it breaks off.
    """

    def __init__(self, url: str, response: httpx2.Response, redactor: Redactor) -> None:
        self.ended = False
        self._url, self._response, self._redactor = url, response, redactor
        self._chunks: Iterator[bytes] = response.iter_raw()
        self._buffer = bytearray()

    def read(self, length: int) -> bytes:
        """Read ``length`` bytes, or fewer if the body ends."""
        while len(self._buffer) < length and (chunk := self._next()):
            self._buffer += chunk
        self.ended = self.ended or len(self._buffer) < length
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    def end(self) -> None:
        """Close the answer. If nothing of it is left, its connection stays for the next question."""
        # Only a read to the mark that ends the body leaves the connection usable.
        with suppress(RemoteUnavailable):
            self.read(_CHUNK_BYTES)
        self.close()

    def close(self) -> None:
        """Stop reading."""
        self._response.close()

    def _next(self) -> bytes:
        import httpx2

        try:
            return next(self._chunks, b"")
        except httpx2.TimeoutException:
            raise RemoteUnavailable(self._url, f"it said nothing for {SILENCE_SECONDS:g} seconds") from None
        except (httpx2.TransportError, httpx2.StreamError) as error:
            self.ended = True
            raise RemoteUnavailable(self._url, f"it broke off: {self._redactor.reason(error)}") from None


def _chunks_of(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


def _make_client(address: Address) -> httpx2.Client:
    try:
        import httpx2
    except ImportError:
        raise InvalidArgument("a remote over HTTP needs the extra: pip install 'headish[call]'") from None
    in_the_clear = address.is_in_the_clear
    timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
    # A request in the clear to this machine must not pass through a proxy on another one.
    return httpx2.Client(timeout=timeout, limits=limits, trust_env=not in_the_clear, verify=not in_the_clear)
