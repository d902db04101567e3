"""Capabilities, settings and SQL strings of a Spark session."""
