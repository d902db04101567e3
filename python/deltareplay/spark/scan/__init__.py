"""The rows of one version as a DataFrame, and the filters that skip files."""
