"""The web process: the application with all that is mounted in it, and the server that runs it."""
