"""Windows: a thread as a model sees it, and as people see it, after overlays (rule R34, overlays).

``states`` applies a thread's overlays to its turns, ``view`` builds what a model sees, ``resolve`` makes a window of
that, ``transcripts`` prepares exports, ``faces`` builds what people see. ``resent`` compares a list that a client sends
again with the window. Pure, except ``resent`` and the look-ups at the end of ``resolve``.
"""
