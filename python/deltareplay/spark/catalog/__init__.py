"""Tables from the ``table`` argument and from names, and names for tables."""
