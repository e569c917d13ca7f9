"""Commands that keep a database: backups and what looks after them."""
