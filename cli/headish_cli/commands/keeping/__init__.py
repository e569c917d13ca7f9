"""Commands that keep a database, keep it in step with other systems, and say who wrote what."""
