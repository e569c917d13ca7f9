"""Readers of what agent frameworks store: sessions, checkpoints, lists of messages."""
