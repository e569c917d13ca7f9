"""Verify: derive every hash, link, name and journal of a space again, and compare."""
