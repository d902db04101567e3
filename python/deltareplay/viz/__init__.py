"""Pictures of a table: the report as one HTML file, and the cards in notebooks."""
