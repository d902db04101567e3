"""What a Spark session is, has and allows."""
