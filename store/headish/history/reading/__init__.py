"""Read turns: resolve a headish, walk its thread, decode messages and options."""
