//! Differences between operating systems: the form of a local path, and some calls.
//!
//! A [`Location`](super::Location) writes a local path as a URI does, with `/` before and between its
//! parts, on every system: `/data/t`, and `/C:/data/t` on Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::*;
#[cfg(windows)]
pub(super) use windows::*;
