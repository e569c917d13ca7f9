"""Commands that find turns and conversations."""
