"""Changes of rows, and streams of them."""
