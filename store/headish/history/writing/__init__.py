"""From drafts to stored turns and moved names."""
