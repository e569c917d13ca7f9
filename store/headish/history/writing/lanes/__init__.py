"""Lanes: what a client has sent in one conversation. Load a lane, place a list in it, and name it."""
