"""The verbs of a store, each in the module of its kind."""
