"""Places that keep bundles, commands that reach another store, and the keys of remotes. It does not know stores."""
