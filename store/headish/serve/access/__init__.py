"""Access: the layers that every request passes, callers and their rights, logins, and how a route enters a space.

``guarding`` checks the host and the address of the peer, ``admitting`` says who sent a request, ``logins`` which codes
and sessions are valid, ``callers`` what each may do. ``headish.values.access`` has the checks that need no store. The
gateway admits its callers itself (``gateway/passing``).
"""
