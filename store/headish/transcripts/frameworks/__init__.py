"""Messages of frameworks as plain data: what several of the importers and adapters read in one way.

Nothing here imports a framework, opens a file or knows a store.
"""
