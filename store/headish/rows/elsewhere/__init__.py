"""Rows about other stores: what came from there, where they are, what they call what, and what they erased."""
