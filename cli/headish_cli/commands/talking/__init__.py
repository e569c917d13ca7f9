"""Commands for talking: questions and answers, a conversation at the terminal, and the configuration file."""
