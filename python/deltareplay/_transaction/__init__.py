"""Transactions and their results."""
