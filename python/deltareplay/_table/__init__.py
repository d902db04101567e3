"""``Table`` and its verbs."""
