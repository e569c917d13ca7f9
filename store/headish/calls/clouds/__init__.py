"""Clouds: their addresses for a provider's models, the differences in their requests, and their credentials.

``places`` is the table of addresses. ``credentials`` chooses between a key and the credentials of the cloud's own
tools; ``aws``, ``google`` and ``entra`` ask those tools. Their packages are extras, imported when a call needs them.
"""
