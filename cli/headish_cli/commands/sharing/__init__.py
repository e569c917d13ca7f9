"""Commands that carry turns from one store to another."""
