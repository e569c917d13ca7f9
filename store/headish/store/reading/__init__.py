"""Verbs that read a space: its turns, what is found in them, what changes, and what it all counts and costs."""
