"""Queries in SQL over Delta tables."""
