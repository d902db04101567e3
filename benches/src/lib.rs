//! Seeded logs for the benches.
