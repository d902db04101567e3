"""Hadoop paths, credentials and staging directories."""
