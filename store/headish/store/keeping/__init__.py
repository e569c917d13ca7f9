"""The parts of a store beside its turns (bookmarks, conversations, objects), and the verbs that back up, export, sign
or erase."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a store imports them when one of their verbs is first called
    from headish.store.keeping import erase as erase
    from headish.store.keeping import export_all as export_all
    from headish.store.keeping import signatures as signatures
