"""The upstreams: a table of providers by the first word of the path, and the pointers after ``/to/``.

/anthropic/v1/messages             https://api.anthropic.com/v1/messages
/openai/v1/responses               https://api.openai.com/v1/responses
/gemini/v1beta/models/…            https://generativelanguage.googleapis.com/v1beta/models/…
/ollama/api/chat                   http://127.0.0.1:11434/api/chat
/to/POINTER/chat/completions       the base URL of the pointer, and /chat/completions
/t/TOKEN/anthropic/v1/messages     as without /t/TOKEN, for a client that can set nothing but a base URL
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from headish.values.checks.addresses import Address, parse_address

Shape = Literal["anthropic", "openai", "gemini", "ollama"]
"""The form of an API's errors."""


class Upstream(Struct, frozen=True, kw_only=True):
    """A server that calls go to.

    ``api`` is its word in the path, ``shape`` the form of its errors, ``provider`` the provider whose key it takes
    (None if it takes none), ``base_url`` its address. If ``is_own``, the address is the provider's own, and the
    provider's usual key may go there; to any other address only the key that ``key_env`` names.
    """

    api: str
    shape: Shape
    base_url: str
    provider: str | None = None
    is_own: bool = False
    key_env: str | None = None

    @property
    def address(self) -> Address:
        """The base URL, checked. Raises: InvalidAddress."""
        return parse_address(self.base_url)

    def moved(self, base_url: str) -> Upstream:
        """The same API at another address, to which the provider's usual key does not go. Raises: InvalidAddress."""
        parse_address(base_url)
        return Upstream(api=self.api, shape=self.shape, provider=self.provider, base_url=base_url)


class CallTarget(Struct, frozen=True):
    """The parts of a request's target. ``api`` is a word of ``UPSTREAMS``, or None if ``pointer`` names a pointer;
    ``path`` is the upstream's: it begins with a slash or is empty; ``query`` has no question mark."""

    api: str | None
    pointer: str | None
    path: str
    query: str
    token: str | None = None


def read_target(raw_path: str) -> CallTarget | None:
    """Read the target of a request, with the client's spelling; None if no upstream has such a path."""
    path, _, query = raw_path.partition("?")
    token = None
    if path.startswith("/t/"):
        token, slash, rest = path[len("/t/") :].partition("/")
        path = slash + rest
    first, slash, rest = path[1:].partition("/")
    if first == "to":
        pointer, slash, rest = rest.partition("/")
        return CallTarget(None, pointer, slash + rest, query, token) if pointer else None
    return CallTarget(first, None, slash + rest, query, token) if first in UPSTREAMS else None


_OWN: dict[Shape, str] = {
    # The base URLs of the SDKs lack /v1 for Anthropic and Gemini: the SDKs add it to the path themselves.
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""The addresses of the providers' own APIs."""
UPSTREAMS: dict[str, Upstream] = {
    **{api: Upstream(api=api, shape=api, provider=api, base_url=url, is_own=True) for api, url in _OWN.items()},
    # ollama 0.6.3, _client.py: OLLAMA_HOST, else this; read on 2026-11-25.
    "ollama": Upstream(api="ollama", shape="ollama", base_url="http://127.0.0.1:11434"),
}
SHAPES: dict[str, Shape] = {"anthropic": "anthropic", "gemini": "gemini"}
"""The shape of a provider's errors; all others follow OpenAI's."""
