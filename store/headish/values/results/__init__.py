"""What verbs about whole spaces give."""
