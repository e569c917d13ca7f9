"""Readers of the databases and streams in which other tools keep conversations."""
