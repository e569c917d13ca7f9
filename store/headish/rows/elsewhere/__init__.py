"""Rows about other stores: where they are, what arrived from them, how they name turns, and what they erased."""
