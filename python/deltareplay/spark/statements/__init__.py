"""Delta's SQL statements: parsing and execution."""
