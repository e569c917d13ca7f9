"""The parts of a store beside its turns (bookmarks, conversations, objects), and the verbs that back up, export or
erase."""
