"""Rows of a DataFrame into data files and one commit."""
