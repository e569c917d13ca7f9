"""``headish serve``: the page, the API and MCP over the conversations of a database, and the recorder of the gateway.

``access`` knows who asks and what for, ``web`` is the application and its process, ``api`` and ``mcp`` are mounted
in it. ``recorder`` stores what passed the gateway.
"""
