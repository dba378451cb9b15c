"""The terminal review: every finding shown, every decision kept."""
