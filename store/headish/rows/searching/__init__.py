"""Statements of the search index: ``matches`` asks, ``indexing`` keeps it up to date."""
