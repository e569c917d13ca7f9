"""Code that several readers share: foreign databases, lists of messages with common beginnings, JSON of any layout,
times."""
