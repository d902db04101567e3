"""Arguments, units, warnings and the log, for all packages."""
