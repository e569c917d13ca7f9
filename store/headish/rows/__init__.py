"""Floor 3. Rows: the statements, by table. A function runs one or two of them and returns values."""
