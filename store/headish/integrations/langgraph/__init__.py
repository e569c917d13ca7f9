"""LangGraph: a checkpointer that keeps messages as turns. Needs the extra ``langgraph``.

- ``saver``: the class, with sync and async verbs.
- ``writing``, ``reading``, ``listing``, ``forgetting``: the work of the verbs, inside a transaction.
- ``messages``: convert a message of LangChain to a turn and back. ``records``: the objects beside the turns.
- ``thread_memory``: what a saver remembers, so that a step costs the same however long the thread is.
"""

from headish.integrations.langgraph.saver import HeadishSaver

__all__ = ["HeadishSaver"]
