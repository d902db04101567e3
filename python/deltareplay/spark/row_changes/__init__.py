"""Changes of rows as a DataFrame."""
