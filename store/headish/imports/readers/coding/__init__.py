"""Sessions of coding agents: files of lines that grow while they are read."""
