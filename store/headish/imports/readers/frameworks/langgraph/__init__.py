"""What LangGraph's savers store, read as data: checkpoints in SQLite and in PostgreSQL, and the channels of a graph."""
