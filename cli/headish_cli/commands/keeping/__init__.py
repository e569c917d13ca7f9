"""Commands that look after databases."""
