"""The ``table`` argument, and lookup and registration of names in the session's catalog."""
