"""Verbs that read a space: turns, searches, changes, reports and costs."""
