"""What commands print: values on stdout, words on stderr, answers while they arrive, drawings."""
