"""The statements of ``rows/threads``."""
