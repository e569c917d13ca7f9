"""Verbs that read a space: turns, searches, changes, reports and costs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a store imports them when one of their verbs is first called
    from headish.store.reading import audit as audit
    from headish.store.reading import compare as compare
    from headish.store.reading import export as export
    from headish.store.reading import follow as follow
    from headish.store.reading import lists as lists
    from headish.store.reading import pages as pages
    from headish.store.reading import read as read
    from headish.store.reading import reports as reports
    from headish.store.reading import resolve as resolve
    from headish.store.reading import search as search
    from headish.store.reading import threads as threads
    from headish.store.reading import tokens as tokens
