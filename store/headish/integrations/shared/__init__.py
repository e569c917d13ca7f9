"""What all adapters share: which database, which name, how turns are added and taken away, what is healed and erased.

- ``names``: the bookmark of a session id, and back.
- ``opening``: ``Held``, an adapter's hold on a database that others of the process use as well.
- ``threads``: add, read, pop and drop under one name, each in one transaction; ``steps`` are their parts.
- ``remembering``: what a process knows of turns that it has seen.
- ``orders``: the order of keys.
- ``healing``: text that cannot be stored.
- ``forgetting``: what ``erase=`` means, and the warning of what only hides.
"""
