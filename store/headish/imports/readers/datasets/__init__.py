"""Files of conversations that were made to be read by programs: data sets and records."""
