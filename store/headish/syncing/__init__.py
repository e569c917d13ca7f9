"""One history in several stores: write what leaves a space as bundles, and store what arrives in them.

What becomes of a name is decided by ``naming`` for a file, by ``meeting`` for a pull, and by ``live/moves`` and
``live/answering`` at a live remote; ``history.conversations.times`` decides which title and tags stay.
"""
