"""The results of verbs about whole spaces."""
