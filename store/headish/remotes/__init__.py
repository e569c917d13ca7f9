"""Places where bundles lie, and the keys that close them. Knows no store."""
