"""Read what LangGraph's savers store, as data: checkpoints in SQLite and in PostgreSQL, and the channels of a graph."""
