"""``headish serve``: the page, the API and MCP over the conversations of a database, and the recorder of the gateway.

``access`` admits callers and checks their rights, ``web`` is the application and its process, ``api`` and ``mcp`` are
mounted in it. ``recorder`` stores the calls that passed the gateway.
"""
