"""Commands that change how a thread is seen, or lay another one beside it."""
