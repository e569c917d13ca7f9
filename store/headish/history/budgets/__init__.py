"""Budgets: how many tokens a window has, and what is left out where there are too many.

``estimates`` guesses from bytes, ``fitting`` learns from what providers counted, ``cutting`` leaves out, ``compacting``
chooses what a summary may stand for, ``counting`` puts it together for the verbs. Pure.
"""
