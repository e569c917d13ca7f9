"""Modules for SQLite files alone: the log, the lock, copies and full text."""
