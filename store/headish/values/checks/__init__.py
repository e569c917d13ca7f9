"""What arguments, texts and addresses must be."""
