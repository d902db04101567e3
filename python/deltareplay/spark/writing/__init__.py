"""Writing of DataFrame rows into data files, and their commit."""
