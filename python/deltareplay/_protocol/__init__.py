"""Protocol and metadata of a table."""
