"""Commands for talking: what is said and to whom, a conversation at the terminal, and the configuration file."""
