"""delta-spark's ``DeltaTable``, its builders, and the results of statements."""
