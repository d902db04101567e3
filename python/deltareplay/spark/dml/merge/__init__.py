"""MERGE: its builder, its source, its clauses and its execution."""
