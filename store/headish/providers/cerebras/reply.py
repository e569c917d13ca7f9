"""Reads what Cerebras' ``POST /v1/chat/completions`` answers: a completion, or the chunks of its stream."""

from __future__ import annotations

from headish.providers.chat.reply import ChatReader


class CerebrasReader(ChatReader):
    """Reads one answer of Cerebras' chat completions API."""

    provider = "cerebras"
