"""OPTIMIZE, VACUUM, verify, convert, clone, checkpoints, detail and history."""
