"""Modules for servers alone: connections, transactions, errors, and the upkeep of their tables."""
