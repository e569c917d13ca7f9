"""Sync with a store that is there: one asks, the other answers, and both end with what either had."""
