"""The database: its tables, its schema's revision, and what differs between SQLite and PostgreSQL.

``dialects`` is the only module that asks which database this is. ``query`` prepares statements and runs them.
"""
