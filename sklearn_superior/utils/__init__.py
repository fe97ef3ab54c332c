"""Internal helpers; nothing here is public."""
