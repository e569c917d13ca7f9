"""Content: what is said, checked, encoded and hashed before anything is stored. No SQLAlchemy, no I/O."""
