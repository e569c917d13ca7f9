"""Write: from drafts to stored turns and moved names."""
