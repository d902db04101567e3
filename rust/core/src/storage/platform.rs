//! Differences between operating systems: the form of local paths, and some system calls.
//!
//! A [`Location`](super::Location) has local paths in the form of a URI, with `/` before and between their
//! components, on every system: `/data/t`, and `/C:/data/t` on Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::*;
#[cfg(windows)]
pub(super) use windows::*;
