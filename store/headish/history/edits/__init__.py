"""Changes of what was said: a turn never changes, so an edit is another turn beside it (rule I1, turns never change)."""
