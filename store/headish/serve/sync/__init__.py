"""``/sync``: a store answers another one that has this server as a remote."""
