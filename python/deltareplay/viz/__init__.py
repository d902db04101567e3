"""Pictures of a log: the report of a table as one HTML file, and the cards of notebooks."""
