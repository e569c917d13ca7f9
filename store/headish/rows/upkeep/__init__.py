"""Statements of the feed, erasures, the search index and backups of a space."""
