"""Searching: an index of the words of turns, brought up to date on demand, and the searches that use it.

``entries`` says which words a turn has, ``index`` keeps them, ``switching`` says whether there is one; ``candidates``
finds turns that may match, ``hits`` asks each of them, ``reaching`` finds what leads on from a hit, ``scopes`` reads
the filters by name and tag, and ``checking`` is verify's part.
"""
