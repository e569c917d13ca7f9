"""Keys: where headish looks for them, and where it may send them (ADR 0014).

headish sends a provider's usual key only to the provider's own host. Any other address gets only a key that the caller
named for it. No key travels where others could read it. Keys come from the environment or the keyring. No argument
takes a key, so none ends up in a shell's history or in the database.
"""

from __future__ import annotations

import os
import re

from headish.calls.endpoints import Endpoint, find_endpoint
from headish.errors import InvalidAddress, InvalidArgument, InvalidKey, MissingKey
from headish.values.checks.addresses import Address, parse_address

KEYRING_SERVICE = "headish"
KEYRING_PREFIX = "keyring:"
"""``key_env="keyring:NAME"`` is the keyring's entry of that user under ``KEYRING_SERVICE``."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SENDABLE = re.compile(r"[\x21-\x7e]+")


class ApiKey(str):
    """A key that does not show itself in a traceback's variables or in a log's ``%r``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def find_key(provider: str, *, base_url: str | None = None, key_env: str | None = None) -> str | None:
    """The key to send to a provider; None for another address without ``key_env``, which gets no key.

    ``key_env`` names the environment variable, or the keyring's entry as ``keyring:NAME``, to read in place of the
    provider's usual places.
    Raises: MissingKey; InvalidKey; InvalidAddress; InvalidArgument; UnknownFormat for the provider.
    """
    endpoint = find_endpoint(provider)
    address = endpoint.address if base_url is None else parse_address(base_url)
    if key_env is not None:
        places: tuple[str, ...] = (named_place(key_env),)
    elif address.origin == endpoint.address.origin:
        places = usual_places(endpoint)
    else:
        return None
    refuse_readable(address)
    return first_key(provider, places)[0]


def first_key(provider: str, places: tuple[str, ...]) -> tuple[ApiKey, str]:
    """The first key found in some places, each as ``key_env`` would name it, and its place. Raises: MissingKey;
    InvalidKey."""
    for place in places:
        key = _look_at(place)
        if key:
            return checked_key(provider, key, _describe(place)), place
    raise MissingKey(provider, tuple(map(_describe, places)))


def named_place(key_env: str) -> str:
    """Check the place that a caller names for a key, and return it. Raises: InvalidArgument, which does not repeat it:
    it may be the key."""
    if not key_env.removeprefix(KEYRING_PREFIX) or not (
        key_env.startswith(KEYRING_PREFIX) or _VARIABLE.fullmatch(key_env)
    ):
        raise InvalidArgument("key_env is the name of an environment variable, or keyring:NAME; this is neither")
    return key_env


def usual_places(endpoint: Endpoint) -> tuple[str, ...]:
    """The places of a provider's key, each as ``key_env`` would name it."""
    return (*endpoint.key_variables, *(KEYRING_PREFIX + user for user in endpoint.keyring_users))


def refuse_readable(address: Address) -> None:
    """Refuse to send a key where it would travel in the clear. Raises: InvalidAddress."""
    if not address.is_private:
        raise InvalidAddress(address.origin, "a key would travel unencrypted; use https, or send no key")


def _look_at(place: str) -> str | None:
    if place.startswith(KEYRING_PREFIX):
        return _read_keyring(place.removeprefix(KEYRING_PREFIX))
    return os.environ.get(place)


def _read_keyring(user: str) -> str | None:
    """An entry of the keyring; None if there is none, or the keyring cannot be read."""
    # A backend may raise anything (no desktop session, no daemon, locked): the places after it still count.
    try:
        import keyring

        return keyring.get_password(KEYRING_SERVICE, user)
    except Exception:
        return None


def _describe(place: str) -> str:
    if place.startswith(KEYRING_PREFIX):
        return f"the keyring (service {KEYRING_SERVICE}, user {place.removeprefix(KEYRING_PREFIX)})"
    return f"the environment variable {place}"


def checked_key(provider: str, key: str, source: str) -> ApiKey:
    """A key that a header can hold. Raises: InvalidKey, which does not show it."""
    if not _SENDABLE.fullmatch(key):
        at = next(index for index, character in enumerate(key) if not _SENDABLE.fullmatch(character))
        raise InvalidKey(provider, source, f"its character {at + 1} of {len(key)} is a blank or not ASCII")
    return ApiKey(key)
