"""Answers: what a provider says while it is still arriving, journalled so that nothing of it is lost."""
