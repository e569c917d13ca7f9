"""Statements of what looks after a space: the feed, erasures, the search index, backups."""
