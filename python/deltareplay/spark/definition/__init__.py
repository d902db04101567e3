"""Creation and replacement of tables."""
