"""Helpers for all tests."""
