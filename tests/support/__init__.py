"""Helpers for all tests. They do not import deltareplay."""
