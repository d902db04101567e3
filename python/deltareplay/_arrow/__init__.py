"""Arrow in and out: sources of rows, data frames, schemas."""
