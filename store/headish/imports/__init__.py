"""Imports: files of other programs become threads, so that a second import of a file stores nothing.

``readers`` hold one module per foreign format; ``keeping`` stores what they read.
"""
