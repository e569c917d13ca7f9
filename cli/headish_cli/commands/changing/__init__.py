"""Commands that change what was said, or how a thread is seen."""
