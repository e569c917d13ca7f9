"""Verbs that ask a provider: requests, replies, tool calls, batches, and whom and with what to ask."""
