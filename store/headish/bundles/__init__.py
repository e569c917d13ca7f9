"""Bundles: turns as bytes, to take them from one store to another. No SQLAlchemy, no I/O."""
