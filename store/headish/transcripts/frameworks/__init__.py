"""Map the messages of frameworks, as plain data, once for all importers and adapters.

Nothing here imports a framework, opens a file or knows a store.
"""
