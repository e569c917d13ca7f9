"""Provider pointers: a short name for a provider, a model and what goes with them (``milli`` for a small model, say).

A pointer is kept as JSON and holds no key: keys belong into the environment or a keyring. A pointer with anything that
looks like a key is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from headish.content import strictjson
from headish.content.secrecy.finding import find_secret
from headish.errors import InvalidArgument, shown
from headish.providers import PROVIDERS
from headish.providers.clouds import Cloud, cloud_of_host, make_cloud
from headish.providers.dialects.choosing import PROVIDER, Spoken, check_dialect, choose_dialect, known_dialect
from headish.values.checks.addresses import parse_address
from headish.values.checks.headers import check_kept_headers
from headish.values.results.plain import PlainResult

AZURE = "azure"
"""The name of a cloud, and of a dialect."""
MODEL_LIMIT = 512
"""The longest name of a model, in characters."""
CONTEXT_WINDOWS = (256, 2**31)
"""The smallest and the largest context window of a pointer, in tokens."""
TIMEOUTS = ("connect", "first_byte", "silence", "total")
"""The time limits of a call, by name."""
LONGEST_SECONDS = 10**6
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Pointer(Struct, frozen=True, omit_defaults=True):
    """The value of a provider pointer. Its fields are the arguments of ``store.pointers.set``.

    ``base_url`` and ``cloud`` are None for the provider's own server, ``dialect`` is None if the server's host shows
    it. Names of ``headers`` are in lower case.
    """

    provider: str
    model: str
    params: dict[str, Any] = {}
    base_url: str | None = None
    key_env: str | None = None
    context_window: int | None = None
    cloud: Cloud | None = None
    headers: dict[str, str] = {}
    dialect: str | None = None
    timeouts: dict[str, float] = {}

    @property
    def spoken(self) -> Spoken | None:
        """The dialect for the server, and why; None for a provider without dialects."""
        # By the cloud: a pointer that names a resource has no URL whose host could show it.
        if self.dialect is None and self.cloud is not None and self.cloud.name == AZURE and self.provider == PROVIDER:
            return Spoken(AZURE, "it is a server of Azure's")
        return choose_dialect(self.provider, self.base_url, self.dialect)

    @property
    def spelling(self) -> str | None:
        """The dialect in which an answer of the server is read; None for the provider's own way."""
        spoken = self.spoken
        return None if spoken is None or spoken.is_default else spoken.name

    @property
    def known_dialect(self) -> str | None:
        """The setting ``dialect`` of a request to the server; None if nothing is known of the server."""
        return self.spelling or known_dialect(self.provider, self.base_url, self.dialect)

    @property
    def server(self) -> dict[str, Any]:
        """The server and its headers, as arguments of ``headish.calls.open_call``."""
        return {"base_url": self.base_url, "key_env": self.key_env, "cloud": self.cloud, "headers": dict(self.headers)}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without absent values."""
        record: dict[str, Any] = msgspec.to_builtins(self)
        return record

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


class NamedPointer(PlainResult, frozen=True):
    """A pointer under its name, and the time (UTC) when it was set; ``pointer`` is None if the name was removed."""

    name: str
    pointer: Pointer | None
    time: datetime


def make_pointer(
    target: str,
    *,
    params: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    context_window: int | None = None,
    cloud: str | None = None,
    headers: Mapping[str, str] | None = None,
    dialect: str | None = None,
    timeouts: Mapping[str, float] | None = None,
    **account: str | None,
) -> Pointer:
    """The pointer to ``PROVIDER/MODEL``; a model's name may hold slashes of its own.

    A server of Anthropic's models at Microsoft Foundry is recognised by its host: its pointer has the cloud ``azure``.
    ``account`` has the settings of the cloud: ``region``, ``project``, ``profile``, ``resource``, ``api_version``.
    Raises: InvalidArgument for another form, an unknown provider, or anything that looks like a key; InvalidAddress;
    UnknownFormat for the dialect.
    """
    provider, slash, model = target.partition("/") if isinstance(target, str) else ("", "", "")
    if not slash or not model or provider not in PROVIDERS:
        raise InvalidArgument(f"{shown(target)} is not PROVIDER/MODEL with one of {', '.join(PROVIDERS)}")
    if len(model) > MODEL_LIMIT or not model.isprintable() or any(each.isspace() for each in model):
        raise InvalidArgument(
            f"{model[:80]!r} is not the name of a model: printable, without spaces, {MODEL_LIMIT} at most"
        )
    if key_env is not None and not _VARIABLE.fullmatch(key_env.removeprefix("keyring:")):
        # The message does not repeat the value: it may be the key itself.
        raise InvalidArgument("key_env is the name of an environment variable, or keyring:NAME; this is neither")
    if base_url is not None:
        parse_address(base_url)
        base_url = base_url.rstrip("/")  # each path begins with a slash of its own
    if context_window is not None and not CONTEXT_WINDOWS[0] <= context_window <= CONTEXT_WINDOWS[1]:
        raise InvalidArgument(f"context_window is a number of tokens, {CONTEXT_WINDOWS[0]} or more")
    if dialect is not None:
        check_dialect(provider, dialect)
    pointer = Pointer(
        provider=provider,
        model=model,
        params=dict(params or {}),
        base_url=base_url,
        key_env=key_env,
        context_window=context_window,
        cloud=make_cloud(provider, cloud or cloud_of_host(provider, base_url), base_url, account),
        headers=check_kept_headers(headers or {}),
        dialect=dialect,
        timeouts=_read_timeouts(timeouts),
    )
    strictjson.encode_mapping(pointer.params, "the parameters of a pointer")
    # Over the whole pointer: a key may sit in a URL or a header as well as in the parameters.
    secret = find_secret(pointer.to_dict(), "pointer")
    if secret is not None:
        raise InvalidArgument(f"{secret} looks like a key: keys stay in the environment or a keyring")
    return pointer


def _read_timeouts(given: Mapping[str, float] | None) -> dict[str, float]:
    """Time limits in the order of ``TIMEOUTS``. Raises: InvalidArgument."""
    limits = dict(given or {})
    for name, seconds in limits.items():
        if name not in TIMEOUTS:
            raise InvalidArgument(f"a time limit is one of {', '.join(TIMEOUTS)}, not {shown(name)}")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_SECONDS:
            raise InvalidArgument(f"the time limit {name} is a number of seconds above 0, not {shown(seconds)}")
    return {name: limits[name] for name in TIMEOUTS if name in limits}


def encode_pointer(pointer: Pointer) -> bytes:
    """The stored JSON of a pointer."""
    return strictjson.encode(pointer.to_dict())


def decode_pointer(data: bytes) -> Pointer:
    """The pointer of stored JSON. Raises: msgspec.ValidationError, msgspec.DecodeError."""
    return msgspec.json.decode(data, type=Pointer)
