"""Conversations (rule R33, conversations): find the one that a headish belongs to, say something of it, and list them.

- ``records``: which conversation it is, and what is said of it.
- ``saying``: what may be said of one.
- ``entries``: its line in a list.
"""
