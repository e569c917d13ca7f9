"""What all adapters share: which database, which name, how turns are added and taken away, what is healed and erased.

- ``names``: the bookmark of a session id, and back.
- ``opening``: ``Held``, an adapter's hold on a database that others of the process use as well.
- ``threads``: add, read, pop and drop under one name, each in one transaction.
- ``healing``: text that cannot be stored.
- ``forgetting``: what ``erase=`` means, and the warning of what only hides.
"""
