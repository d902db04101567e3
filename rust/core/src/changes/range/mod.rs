//! The versions of a range, whose start and end are versions or timestamps, both ends inclusive.

pub(super) mod commits;
pub(super) mod derive;
pub(super) mod metadata_history;

use super::ChangeOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::log::LogListing;
use crate::log::history::{TimestampMatch, find_timestamp};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::load::load;

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The version of this number.
    Version(u64),
    /// As a start, the first commit at or after this timestamp; as an end, the last one at or before it.
    /// Milliseconds since the epoch, UTC.
    Timestamp(i64),
}

/// The versions of a range, and the table at both ends.
#[derive(Clone, Debug)]
pub(super) struct Range {
    /// First and last version; `None` if the range has no commit.
    pub versions: Option<(u64, u64)>,
    /// The table at the first version; `None` if the range has no commit.
    pub start: Option<Snapshot>,
    /// The table at the last version; at the newest if the range has no commit.
    pub end: Snapshot,
}

/// Determines the versions of a range.
///
/// # Errors
///
/// Invalid argument: `changes.range` for an end before the start. Version not found: `version.timestamp` for
/// an end before the oldest version; unless `allow_out_of_range`, `changes.start` for a start and
/// `version.timestamp` for a timestamp after the newest version.
pub(super) fn resolve(
    source: &Source,
    start: Edge,
    end: Option<Edge>,
    strict: bool,
    options: &ChangeOptions,
) -> Result<Range> {
    let allow_out_of_range = options.allow_out_of_range;
    let newest = load(source, options.newest, strict)?;
    let latest = newest.version();
    let finder = Finder::new(source, &newest, start, end)?.among_readable();
    let first = finder.first(start, allow_out_of_range)?;
    let last = finder.last(end, allow_out_of_range)?;
    let by_time = matches!((start, end), (Edge::Timestamp(start), Some(Edge::Timestamp(end))) if start <= end);
    if last < first && !(by_time && last.saturating_add(1) == first) {
        let message = format!(
            "the range ends at version {last}, before its start at version {first}: pass the smaller \
             version as the start"
        );
        // otherwise the error for a start after the newest version is more helpful
        if first <= latest || matches!(end, Some(Edge::Version(end)) if end < first) {
            return Err(Error::invalid("changes.range", message));
        }
    }
    if first > latest && !allow_out_of_range {
        let message = format!(
            "the range starts at version {first}, but the newest version is {latest}: start at that version \
             or before, or allow ranges that lie outside"
        );
        return Err(
            Error::new(ErrorKind::VersionNotFound, "changes.start", message).at_version(first),
        );
    }
    if first > last || first > latest {
        return Ok(Range {
            versions: None,
            start: None,
            end: newest,
        });
    }
    let last = last.min(latest);
    let at = |version| load_version(source, &newest, version, strict);
    Ok(Range {
        versions: Some((first, last)),
        start: Some(at(first)?),
        end: at(last)?,
    })
}

/// Loads a version, unless it is the one of `loaded`.
pub(super) fn load_version(
    source: &Source,
    loaded: &Snapshot,
    version: u64,
    strict: bool,
) -> Result<Snapshot> {
    if version == loaded.version() {
        return Ok(loaded.clone());
    }
    load(source, Some(version), strict)
}

/// Returns the first version of a range; it may be after the newest version, or have only its commit in the
/// log.
pub(super) fn first_version(source: &Source, newest: &Snapshot, start: Edge) -> Result<u64> {
    Finder::new(source, newest, start, None)?.first(start, false)
}

/// Finds the versions of a start and an end.
struct Finder<'a> {
    source: &'a Source,
    newest: &'a Snapshot,
    /// Loaded only for timestamps.
    listing: Option<LogListing>,
    /// The oldest version to return.
    earliest: u64,
}

impl<'a> Finder<'a> {
    fn new(
        source: &'a Source,
        newest: &'a Snapshot,
        start: Edge,
        end: Option<Edge>,
    ) -> Result<Self> {
        let has_timestamp =
            matches!(start, Edge::Timestamp(_)) || matches!(end, Some(Edge::Timestamp(_)));
        let listing = has_timestamp.then(|| LogListing::read(&*source.storage, 0));
        let listing = listing.transpose()?;
        let earliest = listing.as_ref().and_then(|listing| {
            let first = listing.commits.first().map(|commit| commit.version);
            first.or_else(|| listing.earliest_recreatable())
        });
        Ok(Self {
            source,
            newest,
            listing,
            earliest: earliest.unwrap_or(0),
        })
    }

    /// Returns only versions that can be reconstructed.
    fn among_readable(self) -> Self {
        let earliest = self
            .listing
            .as_ref()
            .and_then(LogListing::earliest_recreatable);
        Self {
            earliest: earliest.unwrap_or(0),
            ..self
        }
    }

    fn find_timestamp(&self, timestamp: i64) -> Result<TimestampMatch> {
        let empty = LogListing::default();
        let listing = self.listing.as_ref().unwrap_or(&empty);
        let in_commit = self.newest.in_commit_timestamps();
        let storage = &*self.source.storage;
        find_timestamp(storage, listing, self.earliest, timestamp, in_commit)
    }

    fn first(&self, start: Edge, allow_out_of_range: bool) -> Result<u64> {
        let timestamp = match start {
            Edge::Version(version) => return Ok(version),
            Edge::Timestamp(timestamp) => timestamp,
        };
        Ok(match self.find_timestamp(timestamp)? {
            TimestampMatch::Before(version, _) => version,
            TimestampMatch::At(version, time) if time == timestamp => version,
            TimestampMatch::At(version, _) => version.saturating_add(1),
            after @ TimestampMatch::After(version, _) => {
                if !allow_out_of_range {
                    return Err(after.into_error(timestamp));
                }
                version.saturating_add(1)
            }
        })
    }

    fn last(&self, end: Option<Edge>, allow_out_of_range: bool) -> Result<u64> {
        let timestamp = match end {
            None => return Ok(self.newest.version()),
            Some(Edge::Version(version)) => return Ok(version),
            Some(Edge::Timestamp(timestamp)) => timestamp,
        };
        match self.find_timestamp(timestamp)? {
            TimestampMatch::At(version, _) => Ok(version),
            TimestampMatch::After(version, _) if allow_out_of_range => Ok(version),
            outside => Err(outside.into_error(timestamp)),
        }
    }
}
