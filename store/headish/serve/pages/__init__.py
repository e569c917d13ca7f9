"""The page of ``headish serve``: conversations to find, read, compare and continue in a browser.

Each module has the views of one kind; ``routes`` lists them. ``drawing`` fills the templates, ``turns`` prepares the
turns of a thread for them. Every action is a form that works without script; ``assets/page.mjs`` makes it comfortable.
"""
