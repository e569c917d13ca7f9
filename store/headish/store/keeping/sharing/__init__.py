"""The verbs of ``store.remotes``: which places hold a space, and what goes there and comes from there."""
