"""Modules for servers alone: the connection, what their errors mean, and the care of their tables."""
