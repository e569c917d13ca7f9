"""Verify: every hash, link, name and journal of a space derived again and compared."""
