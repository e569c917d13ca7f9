"""LangChain: ``HeadishChatMessageHistory`` keeps the messages of a chat (docs/how-to/integrations/langchain.md)."""

from headish.integrations.langchain.history import HeadishChatMessageHistory

__all__ = ["HeadishChatMessageHistory"]
