"""Edits and differences. A turn never changes (rule I1): an edit stores another turn beside it."""
