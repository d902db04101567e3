"""Types of Delta, Spark and Arrow, and values from one to the other."""
