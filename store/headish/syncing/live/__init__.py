"""Sync with a store that answers: one side asks, the other answers, and at the end both have what either had."""
