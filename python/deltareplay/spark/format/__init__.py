"""The Python data source of the formats ``deltareplay`` and ``delta``."""
