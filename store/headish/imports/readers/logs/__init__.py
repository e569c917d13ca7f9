"""Databases and streams in which other tools keep what was said."""
