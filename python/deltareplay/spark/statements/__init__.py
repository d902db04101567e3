"""SQL statements: reads and runs them."""
