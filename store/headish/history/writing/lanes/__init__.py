"""What a client has sent in one conversation: its lane, how a list is placed in it, what it is called."""
