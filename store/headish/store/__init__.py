"""The store: what a program calls. Verbs open transactions and call the floors below; each kind of verb has a
module."""
