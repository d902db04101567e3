"""Tasks on executors, and the replay of large logs by them."""
