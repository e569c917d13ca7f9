"""Readers of the exports that services give their users: one large file, or an archive with it."""
