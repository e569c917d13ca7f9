"""The feed of a space: cursors, pages of changes, and the turns that a move of a name brought. Connection in, values
out."""
