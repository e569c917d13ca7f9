"""Cerebras' chat completions API.

Source: https://inference-docs.cerebras.ai/api-reference/chat-completions, as the types of the official SDK have it,
cerebras-cloud-sdk 1.91.0, read on 2026-11-21.
"""

from headish.providers.cerebras.request import CerebrasReader, CerebrasWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("cerebras", CerebrasWriter, CerebrasReader)
