"""Commands that keep a database: what is erased, collected, copied."""
