"""Arguments, units, warnings and the log: what every package uses."""
