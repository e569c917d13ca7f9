"""The database: its tables, its schema's revision, and what differs between SQLite and PostgreSQL.

``dialects`` is the one module that asks which database this is; ``query`` compiles statements and runs them.
"""
