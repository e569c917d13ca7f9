"""The feed of a space: cursors, pages of changes, and what a move of a name brought. Connection in, values out."""
