"""What services give back to the people who used them: one large file, or an archive of it."""
