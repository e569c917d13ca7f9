"""Commands that change what was said, or show what was changed."""
