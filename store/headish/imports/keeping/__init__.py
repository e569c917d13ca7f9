"""Keep what an import read: store its trees as turns, name their tips, and remember what is known of exports."""
