//! The Python extension module `deltareplay._native`.
