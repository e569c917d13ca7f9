"""Clouds: where each serves a provider's models, how its requests differ, and how it authenticates.

``places`` is the table of addresses, ``credentials`` chooses between a key and what the cloud's own tools know;
``aws``, ``google`` and ``entra`` ask those tools. Their packages are extras, imported when a call needs them.
"""
