"""What only a SQLite file has: its log, its lock, its copy, its full text."""
