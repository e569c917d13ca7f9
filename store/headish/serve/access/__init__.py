"""Who asks, and what for: the layers that every request passes, callers, logins, and how a route enters a space.

``headish.values.access`` has the checks that need no store.
"""
