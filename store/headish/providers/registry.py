"""The providers that headish knows, by id."""

from __future__ import annotations

from headish.errors import UnknownFormat
from headish.providers.anthropic import ANTHROPIC
from headish.providers.cerebras import CEREBRAS
from headish.providers.cohere import COHERE
from headish.providers.gemini import GEMINI
from headish.providers.openai import OPENAI
from headish.providers.openai_responses import OPENAI_RESPONSES
from headish.providers.provider import Provider


def find_provider(name: str) -> Provider:
    """The provider of this id. Raises: UnknownFormat."""
    provider = PROVIDERS.get(name)
    if provider is None:
        raise UnknownFormat(name, tuple(PROVIDERS))
    return provider


PROVIDERS = {provider.id: provider for provider in (ANTHROPIC, OPENAI, OPENAI_RESPONSES, GEMINI, COHERE, CEREBRAS)}
