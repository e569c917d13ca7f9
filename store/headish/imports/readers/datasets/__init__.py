"""Readers of conversations in data sets and records, files that are made for programs to read."""
