"""Changes of what was said. A turn never changes (rule I1): an edit is another turn beside it."""
