"""MCP over one's own history: agents look things up, quoted as data.

``scope`` and ``seeing`` say what may be shown at all, ``quoting`` how, ``budgets`` how much; ``lookups`` are the tools
and ``server`` offers them, over stdio and at ``/mcp``.
"""
