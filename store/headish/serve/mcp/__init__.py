"""MCP over one's own history: agents look things up, quoted as data.

``scope`` and ``seeing`` decide what may be shown, ``quoting`` writes it, ``budgets`` limits its size; ``lookups`` has
the tools, and ``server`` offers them, over stdio and at ``/mcp``.
"""
