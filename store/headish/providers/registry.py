"""The providers that headish knows, by id. Each is a package of that name, imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from headish.errors import UnknownFormat

if TYPE_CHECKING:
    from headish.providers.shared.provider import Provider

PROVIDERS = ("anthropic", "openai", "openai_responses", "gemini", "cohere", "cerebras")
"""The ids. The package of each has its ``PROVIDER``."""


def check_provider(name: str) -> None:
    """Check the name of a provider. Raises: UnknownFormat."""
    if name not in PROVIDERS:
        raise UnknownFormat(name, PROVIDERS, "provider")


def find_provider(name: str) -> Provider:
    """The provider of this id. Raises: UnknownFormat."""
    check_provider(name)
    # Joined, not formatted: to ``format`` a member of a caller's ``Enum`` that is equal to an id is another text.
    provider: Provider = import_module("headish.providers." + name).PROVIDER
    return provider
