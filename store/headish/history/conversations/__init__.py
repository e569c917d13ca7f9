"""Conversations (rule R33, conversations): find the one that a headish belongs to, change its record, and list them.

- ``subjects``: which conversation a headish, a key or a record belongs to.
- ``records``, ``saying``, ``changing``: its record (title, tags …): read, checked, and changed.
- ``entries``, ``nameless``, ``gone``: its line in a list, and which lines are left out.
"""
