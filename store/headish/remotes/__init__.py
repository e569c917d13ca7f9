"""Places where bundles lie, and the keys that encrypt them. Knows no store."""
