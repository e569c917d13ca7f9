"""Bundles: turns on their way from one store to another, as bytes. No SQLAlchemy, no I/O."""
