"""Cohere's chat API, version 2.

Source: https://docs.cohere.com/reference/chat, as the types of the official SDK have it, cohere 7.3.1, read on
2026-11-21.
"""

from headish.providers.cohere.reply import CohereReader
from headish.providers.cohere.request import CohereWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("cohere", CohereWriter, CohereReader)
