"""Commands around the server: ``serve``, the tokens that it takes, and ``mcp``."""
