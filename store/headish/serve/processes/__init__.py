"""The processes of ``headish serve``: a parent that starts the others, starts them again, and ends them in order.

``web`` draws pages and answers programs, ``gateway`` passes calls to providers, ``recorder`` stores those calls,
``syncer`` syncs with remotes. Each has an interpreter of its own, so that no computation of one delays an event of
another.
"""
