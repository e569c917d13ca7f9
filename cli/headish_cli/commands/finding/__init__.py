"""Commands that find and show turns: searches, lists of conversations, single turns in full, heads, children."""
