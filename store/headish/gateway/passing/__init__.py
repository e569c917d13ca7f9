"""A call on its way: who may send it, where it goes, which headers it takes along, and how it passes."""
