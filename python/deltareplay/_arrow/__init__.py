"""Arrow in and out: sources of rows, frames, schemas."""
