"""``/sync``: answer stores that have this server as a remote; and sync with remotes of one's own at intervals."""
