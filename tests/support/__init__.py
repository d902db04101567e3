"""Helpers that every test may use. Nothing here imports deltareplay."""
