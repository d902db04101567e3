"""Creates and replaces tables."""
