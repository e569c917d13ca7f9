"""Commands that edit turns, or change how readers see a thread."""
