"""Write, overwrite, DELETE, UPDATE and MERGE."""
