"""The files of one version as a DataFrame, without deleted rows."""
