"""Budgets: how many tokens a window has, and which messages are left out if there are too many.

``estimates`` guesses from bytes, ``fitting`` corrects by providers' counts, ``cutting`` leaves messages out,
``compacting`` chooses the turns of a summary, ``counting`` combines them for the verbs. Pure, except ``replies``, which
reads the newest replies of a space.
"""
