"""Write: from drafts to stored turns and moved names.

``append`` stores drafts, ``tips`` most of them by a shorter way, ``copies`` turns of another space, ``arrive`` those of
another store. ``planning`` decides which names move.
"""
