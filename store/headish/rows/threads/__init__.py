"""Statements that read threads and trees."""
