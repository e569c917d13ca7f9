"""Erase: what goes and what stays, the act, and what is collected afterwards."""
