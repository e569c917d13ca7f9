"""Searching: an index of the words of turns, brought up to date on demand, and the searches that use it.

``entries`` makes the words of a turn, ``index`` stores them, ``switching`` turns the index on and off. ``candidates``
finds turns that may match, ``hits`` checks and ranks them, ``reaching`` finds the names and heads that reach a hit,
``scopes`` applies the filters by name and tag, ``calls`` and ``uses`` the filter by tool, and ``checking`` is verify's
part.

What a search reads, with the module of its SQL: the words in ``search_text``, turns and payloads
(``rows.searching.matches``), how far the index reaches in ``search`` (``rows.searching.indexing``), the names that lead
to a hit in ``link`` and ``bookmark`` (``rows.threads.places``), and versions and twins to leave out
(``history.reading.versions``, ``history.twins``).
"""
