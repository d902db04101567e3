"""Types of Delta, Spark and Arrow, and conversion between them."""
