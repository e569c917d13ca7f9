"""The verbs of ``store.remotes``: join and leave places that have a space, and send and take its changes."""
