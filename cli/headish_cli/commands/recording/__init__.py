"""Commands that store what the clients of APIs send."""
