"""Statements of the feed, erasures and backups of a space."""
