"""Anthropic's Messages API.

Source: https://docs.claude.com/en/api/messages, as the types of the official SDK have it, anthropic 2.12.0 (API version
2026-10-21), read on 2026-11-21.
"""

from headish.providers.anthropic.reply import AnthropicReader
from headish.providers.anthropic.request import AnthropicWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("anthropic", AnthropicWriter, AnthropicReader)
