"""Verbs that store turns: they add, import, copy and edit turns, or lay overlays, which change how turns are seen."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a store imports them when one of their verbs is first called
    from headish.store.writing import add as add
    from headish.store.writing import copy as copy
    from headish.store.writing import edit as edit
    from headish.store.writing import imports as imports
    from headish.store.writing import many as many
    from headish.store.writing import overlays as overlays
