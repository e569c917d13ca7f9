"""Commands that keep a database: back up, erase, collect, keep in step with other systems, and say who wrote what."""
