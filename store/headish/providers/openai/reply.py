"""Reads what ``POST /v1/chat/completions`` answers: a completion, or the chunks of its stream."""

from __future__ import annotations

from headish.providers.chat.reply import ChatReader


class OpenAIReader(ChatReader):
    """Reads one answer of OpenAI's Chat Completions API."""

    provider = "openai"
