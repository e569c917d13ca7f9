"""The gateway: a call passes to its provider byte for byte, and what was said is written down beside it.

Nothing here knows the store: what passes goes to a *spool* of files, and another process stores it. So no lock, no
full disk and no slow query reaches a call.
"""
