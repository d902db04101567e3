"""SQL text as tokens, names and clauses; knows no Spark."""
