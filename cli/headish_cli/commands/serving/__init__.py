"""Commands around the server: ``serve``."""
