"""The parts of a store: its bookmarks, pointers, objects and the like."""
