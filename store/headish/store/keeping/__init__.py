"""Verbs that look after a space: follow, search, audit, report, back up."""
