"""The gateway: passes a call to its provider byte for byte, and writes down what was said.

Nothing here knows the store: what passes goes to a *spool* of files, and another process stores it. So no lock, full
disk or slow query affects a call.
"""
