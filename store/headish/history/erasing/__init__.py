"""Erase: choose turns, names or spaces, remove them, and collect rows that nothing refers to afterwards."""
