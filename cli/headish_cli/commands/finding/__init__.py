"""Commands that find and show turns: lists of conversations, single turns in full, heads, children."""
