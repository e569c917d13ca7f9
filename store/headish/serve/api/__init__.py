"""``/api/v1``: the verbs of a store over HTTP, under their names. ``table`` lists them; all else derives from it."""
