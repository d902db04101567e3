"""Filters, conditions and assignments."""
