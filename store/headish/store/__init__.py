"""The store: what a program calls. Verbs open transactions and call the floors below; one module per page."""
