"""A version of a table: its files, its rows, and its replay by many processes."""
