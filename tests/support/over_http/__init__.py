"""A store over HTTP, for the tests of the store: its verbs ask a running server's ``/api/v1``."""
