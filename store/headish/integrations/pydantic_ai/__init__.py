"""Pydantic AI: a durable ``ConversationStore``. Needs the extra ``pydantic-ai``.

- ``store``: the class. ``storing``: the work of its methods, each in one transaction.
- ``messages``: a message as a turn, and back.
"""

from headish.integrations.pydantic_ai.store import HeadishConversationStore

__all__ = ["HeadishConversationStore"]
