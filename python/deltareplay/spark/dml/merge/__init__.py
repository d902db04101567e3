"""MERGE: its builder, source, clauses and execution."""
