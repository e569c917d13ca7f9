"""The building blocks for adapters of other frameworks; all of it is public (docs/how-to/write-an-adapter.md).

``Store.read`` and ``Store.write`` run work in one transaction. These modules add:

- ``holding``: share one open database among all objects of a process that name it; ``Scoped`` adds ``with``.
- ``naming``: convert any text to a bookmark name, and back.
- ``sessions``: a list of turns under one name: add, read, pop, replace, fork, drop.
- ``messages``: blocks, drafts, payloads, the forms of APIs. ``langchain``: LangChain's messages.
- ``remembering``: a cache of the messages that a process has written or read.
- ``healing``: repair text that cannot be stored. ``hiding``: the meaning of ``erase=``.
- ``plugins``: how ``list`` and ``show`` describe what an adapter keeps.

Importing this package imports none of its modules.
"""
