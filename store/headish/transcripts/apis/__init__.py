"""Transcripts as the messages of agent APIs, and back: Chat Completions, Responses, Anthropic.

They refuse what they cannot carry; nothing is repaired.
"""
