"""What agent frameworks keep of their runs: sessions, checkpoints, lists of messages."""
