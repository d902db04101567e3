"""Tokens, names and clauses of SQL text, independent of Spark."""
