"""Pydantic AI: a durable ``ConversationStore``. Needs the extra ``pydantic-ai``.

- ``store``: the class. ``storing``: what it does, each in one transaction.
- ``messages``: a message as a turn, and back.
"""

from headish.integrations.pydantic_ai.store import HeadishConversationStore

__all__ = ["HeadishConversationStore"]
