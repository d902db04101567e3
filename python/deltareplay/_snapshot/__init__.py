"""One version of a table: its files, its rows, its replay by many processes."""
