"""LangGraph: a checkpointer that keeps messages as turns. Needs the extra ``langgraph``.

- ``saver``: the class, with its verbs for sync and async code.
- ``writing``, ``reading``, ``listing``, ``forgetting``: the work of the verbs, each in one transaction.
- ``messages``: a message of LangChain as a turn, and back. ``records``: the objects beside the turns.
- ``thread_memory``: what a saver remembers, so that a step costs the same however long the thread is.
"""

from headish.integrations.langgraph.saver import HeadishSaver

__all__ = ["HeadishSaver"]
