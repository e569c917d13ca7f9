"""Damage done to a database behind the library's back, and what is known to see it. Used by tests/corruption."""
