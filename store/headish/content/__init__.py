"""Content: check, encode and hash messages before anything is stored. No SQLAlchemy, no I/O."""
