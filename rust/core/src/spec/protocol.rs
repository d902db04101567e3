//! Checks, by versions and feature lists, whether this build can read and write a table, with the reasons if
//! it cannot.
//!
//! Protocol: "Protocol Evolution", "Table Features".

use std::collections::HashSet;
use std::fmt;

use crate::error::{Error, Result};
use crate::spec::actions::Protocol;
use crate::spec::features::{
    CATALOG_MANAGED, FeatureKind, ReadSupport, TABLE_FEATURES, find_feature,
};
use crate::spec::json::clipped;

const MAX_READER_VERSION: i32 = 3;
const MAX_WRITER_VERSION: i32 = 7;

/// A reason why this build cannot read or write a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The feature's name, or the version field with its value, such as `minReaderVersion=4`.
    pub feature: String,
    /// The reason why this build cannot use the table.
    pub reason: String,
    /// The remedy.
    pub remedy: String,
}

impl Obstacle {
    fn new(
        feature: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            feature: feature.into(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.feature, self.reason, self.remedy)
    }
}

impl Protocol {
    /// Returns `true` if tables of this protocol may use the feature: listed by name, or implied by
    /// versions before table features. Case-insensitive.
    pub fn is_supported(&self, feature: &str) -> bool {
        let canonical = |name| find_feature(name).map_or(name, |feature| feature.name);
        if self
            .listed()
            .any(|name| canonical(name).eq_ignore_ascii_case(feature))
        {
            return true;
        }
        self.min_reader_version < MAX_READER_VERSION
            && self.min_writer_version < MAX_WRITER_VERSION
            && find_feature(feature).is_some_and(|feature| {
                feature.is_legacy()
                    && feature.min_writer_version <= self.min_writer_version
                    && feature.min_reader_version <= self.min_reader_version
            })
    }

    /// Returns `true` if the table's commits are ratified by a catalog.
    pub fn is_catalog_managed(&self) -> bool {
        CATALOG_MANAGED.iter().any(|name| self.is_supported(name))
    }

    /// Returns the reasons why this build cannot read the table; empty if it can.
    pub fn why_not_readable(&self) -> Vec<Obstacle> {
        let mut obstacles: Vec<_> = self.reader_version_obstacle().into_iter().collect();
        let mut seen = HashSet::new();
        for name in self.reader_features.iter().flatten() {
            if !seen.insert(name.to_ascii_lowercase()) {
                continue;
            }
            match find_feature(name).map(|feature| feature.read_support) {
                Some(ReadSupport::Supported | ReadSupport::NotRequired) => {}
                Some(ReadSupport::Missing { reason, remedy }) => {
                    obstacles.push(Obstacle::new(name, reason, remedy));
                }
                None => obstacles.push(Obstacle::new(
                    name,
                    "the reader feature is unknown to this build",
                    "read it with a newer client, or drop the feature",
                )),
            }
        }
        obstacles
    }

    /// Returns the reasons why this build cannot write the table; empty if it can.
    pub fn why_not_writable(&self) -> Vec<Obstacle> {
        let mut obstacles = self.why_not_readable();
        if self.min_writer_version > MAX_WRITER_VERSION {
            obstacles.push(Obstacle::new(
                format!("minWriterVersion={}", self.min_writer_version),
                format!("the protocol is known up to writer version {MAX_WRITER_VERSION}"),
                "write with a newer client",
            ));
        }
        let lowered = |obstacle: &Obstacle| obstacle.feature.to_ascii_lowercase();
        let mut seen: HashSet<_> = obstacles.iter().map(lowered).collect();
        for feature in TABLE_FEATURES {
            if !feature.is_writable()
                && self.is_supported(feature.name)
                && seen.insert(feature.name.to_ascii_lowercase())
            {
                obstacles.push(Obstacle::new(
                    feature.name,
                    "this build cannot write tables that have it",
                    format!(
                        "write with a client that can {}, or drop the feature",
                        feature.writer_duty
                    ),
                ));
            }
        }
        for name in self.writer_features.iter().flatten() {
            if find_feature(name).is_none() && seen.insert(name.to_ascii_lowercase()) {
                obstacles.push(Obstacle::new(
                    name,
                    "the writer feature is unknown to this build",
                    "write with a client that knows it, or drop the feature",
                ));
            }
        }
        obstacles
    }

    /// Checks that this build can commit to the table.
    ///
    /// # Errors
    ///
    /// Unsupported: `protocol.writer_features` with all obstacles.
    pub fn check_writable(&self) -> Result<()> {
        self.check_readable()?;
        let obstacles = self.why_not_writable();
        if obstacles.is_empty() {
            return Ok(());
        }
        let list: Vec<_> = obstacles.iter().map(ToString::to_string).collect();
        let message = format!("this build cannot write the table: {}", list.join(". "));
        Err(Error::unsupported("protocol.writer_features", message))
    }

    /// Returns `true` if both have the same requirements: equal versions, and equal lists, regardless of
    /// order and repetition.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let sets = |protocol: &Self| {
            let protocol = protocol.clone().without_redundant_lists();
            [protocol.reader_features, protocol.writer_features]
                .map(|list| list.map(HashSet::<String>::from_iter))
        };
        self.min_reader_version == other.min_reader_version
            && self.min_writer_version == other.min_writer_version
            && sets(self) == sets(other)
    }

    /// Checks that this build reads the table correctly.
    ///
    /// # Errors
    ///
    /// Unsupported: `protocol.reader_version` for an unknown reader version, else `protocol.reader_features`
    /// with the names of all features that this build lacks. Corrupt:
    /// `protocol.malformed` if versions and lists contradict each other.
    pub fn check_readable(&self) -> Result<()> {
        let obstacles = self.why_not_readable();
        let list: Vec<_> = obstacles.iter().map(ToString::to_string).collect();
        let message = format!("this build cannot read the table: {}", list.join(". "));
        if self.reader_version_obstacle().is_some() {
            return Err(Error::unsupported("protocol.reader_version", message));
        }
        self.check_well_formed()?;
        if obstacles.is_empty() {
            return Ok(());
        }
        Err(Error::unsupported("protocol.reader_features", message))
    }

    /// Returns `true` if there is an empty feature list although the version has no feature lists; some writers
    /// write one.
    pub fn has_redundant_lists(&self) -> bool {
        self.clone().without_redundant_lists() != *self
    }

    /// Removes empty feature lists if the version has no feature lists.
    pub fn without_redundant_lists(mut self) -> Self {
        if self.min_reader_version < MAX_READER_VERSION {
            self.reader_features.take_if(|list| list.is_empty());
        }
        if self.min_writer_version < MAX_WRITER_VERSION {
            self.writer_features.take_if(|list| list.is_empty());
        }
        self
    }

    /// Checks that versions and feature lists are consistent, except for empty lists without meaning.
    /// Unknown versions are not checked.
    ///
    /// # Errors
    ///
    /// Corrupt: `protocol.malformed`, with the contradiction.
    pub fn check_well_formed(&self) -> Result<()> {
        match self.contradiction() {
            None => Ok(()),
            Some(contradiction) => {
                let message = format!("the protocol action contradicts itself: {contradiction}");
                Err(Error::corrupt("protocol.malformed", message))
            }
        }
    }

    fn contradiction(&self) -> Option<String> {
        let (reader, writer) = (self.min_reader_version, self.min_writer_version);
        if reader < 1 || writer < 1 {
            return Some(format!("versions ({reader}, {writer}) below 1"));
        }
        if reader > MAX_READER_VERSION || writer > MAX_WRITER_VERSION {
            return None;
        }
        for (list, kind, version, max_version) in [
            (&self.reader_features, "reader", reader, MAX_READER_VERSION),
            (&self.writer_features, "writer", writer, MAX_WRITER_VERSION),
        ] {
            match list {
                None if version == max_version => {
                    return Some(format!(
                        "{kind} version {max_version} requires {kind}Features, which are missing"
                    ));
                }
                Some(list) if version < max_version && !list.is_empty() => {
                    return Some(format!(
                        "{kind}Features are allowed only with {kind} version {max_version}, not with version {version}"
                    ));
                }
                _ => {}
            }
        }
        if reader == MAX_READER_VERSION && writer != MAX_WRITER_VERSION {
            return Some(format!(
                "reader version 3 requires writer version 7, not {writer}"
            ));
        }
        let lowered = |list: &Option<Vec<String>>| -> HashSet<String> {
            list.iter()
                .flatten()
                .map(|name| name.to_ascii_lowercase())
                .collect()
        };
        let (readers, writers) = (
            lowered(&self.reader_features),
            lowered(&self.writer_features),
        );
        for name in self.reader_features.iter().flatten() {
            if !writers.contains(&name.to_ascii_lowercase()) {
                return Some(format!(
                    "{} is listed as a reader feature, but not as a writer feature",
                    clipped(name)
                ));
            }
        }
        for name in self.writer_features.iter().flatten() {
            let Some(feature) = find_feature(name).filter(|feature| feature.binds_readers()) else {
                continue;
            };
            // delta-spark up to 3.1 omits legacy features from readerFeatures even at reader version 3
            let implied = feature.kind == FeatureKind::LegacyReaderWriter
                && feature.min_reader_version <= reader;
            if !implied && !readers.contains(&name.to_ascii_lowercase()) {
                return Some(format!(
                    "{name} concerns readers, but is not listed as a reader feature"
                ));
            }
        }
        None
    }

    fn reader_version_obstacle(&self) -> Option<Obstacle> {
        (self.min_reader_version > MAX_READER_VERSION).then(|| {
            Obstacle::new(
                format!("minReaderVersion={}", self.min_reader_version),
                format!("the protocol is known up to reader version {MAX_READER_VERSION}"),
                "read it with a newer client",
            )
        })
    }

    fn listed(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.reader_features, &self.writer_features];
        lists.into_iter().flatten().flatten().map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
