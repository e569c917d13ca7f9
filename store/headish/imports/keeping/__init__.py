"""What an import keeps: its trees as turns, the names of their tips, and what it knows of exports."""
