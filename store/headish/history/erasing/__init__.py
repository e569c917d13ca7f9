"""Erase: choose what goes, remove it, and collect what nothing refers to afterwards."""
