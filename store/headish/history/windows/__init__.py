"""Windows: a thread as a model sees it, and as people see it, after overlays (rule R34, overlays).

``states`` follows what a thread's overlays say of each turn, ``view`` makes of it what a model sees, ``resolve`` a
window of that, ``transcripts`` what an export is written from, ``faces`` what people see. ``resent`` compares a list
that a client sends again. Pure, but for ``resent``, which reads.
"""
