"""Verbs that call a provider: requests, replies, tool calls, batches, and the pointers and tools for them."""
