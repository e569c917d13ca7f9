"""The building blocks for adapters of other frameworks; all of it is public (docs/how-to/write-an-adapter.md).

``Store.read`` and ``Store.write`` run work in one transaction. These modules add:

- ``holding``: share one open database among all objects of a process that name it; ``Scoped`` adds ``with``.
- ``naming``: convert any text to a bookmark name, and back.
- ``sessions``: a list of turns under one name: add, read, pop, replace, fork, drop.
- ``messages``: blocks, drafts, payloads, the forms of APIs. ``langchain``: LangChain's messages.
- ``remembering``: the messages of turns that this process has written or read.
- ``healing``: text that cannot be stored. ``hiding``: what ``erase=`` means.
- ``plugins``: how ``list`` and ``show`` describe an adapter's conversations.

Importing this package imports nothing of it.
"""
