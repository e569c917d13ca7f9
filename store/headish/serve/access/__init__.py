"""Access: the layers that every request passes, callers and their rights, logins, and how a route enters a space.

``headish.values.access`` has the checks that need no store.
"""
