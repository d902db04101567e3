"""Rows from and to Arrow, pandas and Polars, and their filters as SQL."""
