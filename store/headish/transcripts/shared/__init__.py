"""What all transcript formats share: the neutral model, and the base of their incremental parsers."""
