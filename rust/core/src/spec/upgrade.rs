//! The protocol that a table needs: for its metadata, and with features added or removed.
//!
//! A protocol is treated as a set of features, from which versions and lists follow. The weakest form is
//! chosen: plain versions if they imply exactly the set, otherwise lists.
//!
//! Protocol: "Protocol Evolution", "Table Features"; the rules of delta-spark's `Protocol`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::features::{
    CATALOG_MANAGED, TABLE_FEATURES, TableFeature, find_feature, known_feature,
};
use crate::spec::json::clipped;
use crate::spec::property_rules::feature_name;
use crate::spec::schema::StructType;

/// The versions of a new table that requires no other features than theirs.
const DEFAULT_VERSIONS: (i32, i32) = (1, 2);

/// Features by canonical name, and whether readers must support them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FeatureSet(BTreeMap<String, bool>);

impl FeatureSet {
    /// Adds a feature and all that it requires.
    fn add(&mut self, feature: &'static TableFeature) {
        let mut pending = vec![feature];
        while let Some(feature) = pending.pop() {
            let new = self
                .0
                .insert(feature.name.to_owned(), feature.binds_readers());
            if new.is_none() {
                pending.extend(
                    feature
                        .requires
                        .iter()
                        .filter_map(|name| find_feature(name)),
                );
            }
        }
    }

    fn of(protocol: &Protocol) -> Self {
        let mut set = Self::default();
        for feature in TABLE_FEATURES {
            if protocol.is_supported(feature.name) {
                set.0
                    .insert(feature.name.to_owned(), feature.binds_readers());
            }
        }
        let unknown = |name: &&String| find_feature(name).is_none();
        for name in protocol.writer_features.iter().flatten().filter(unknown) {
            set.0.entry(name.clone()).or_insert(false);
        }
        for name in protocol.reader_features.iter().flatten().filter(unknown) {
            set.0.insert(name.clone(), true);
        }
        set
    }

    fn join(&mut self, other: Self) {
        for (name, readers) in other.0 {
            *self.0.entry(name).or_insert(false) |= readers;
        }
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.0.keys().all(|name| other.0.contains_key(name))
    }

    /// Returns the weakest protocol that supports exactly these features.
    fn protocol(&self) -> Protocol {
        let known: Vec<_> = self.0.keys().map(|name| find_feature(name)).collect();
        let (mut reader, mut writer) = (1, 1);
        for feature in &known {
            reader = reader.max(feature.map_or(1, |feature| feature.min_reader_version));
            writer = writer.max(feature.map_or(7, |feature| feature.min_writer_version));
        }
        let plain = Protocol {
            min_reader_version: reader,
            min_writer_version: writer,
            ..Protocol::default()
        };
        if reader < 3 && writer < 7 && Self::of(&plain) == *self {
            return plain;
        }
        let binding: Vec<_> = self.0.iter().filter(|(_, readers)| **readers).collect();
        if binding.iter().any(|(name, _)| find_feature(name).is_none()) {
            reader = 3;
        }
        Protocol {
            min_reader_version: reader,
            min_writer_version: 7,
            reader_features: (reader == 3)
                .then(|| binding.into_iter().map(|(name, _)| name.clone()).collect()),
            writer_features: Some(self.0.keys().cloned().collect()),
        }
    }
}

impl Protocol {
    /// Returns the names of all features of tables with this protocol, implied and listed, sorted.
    pub fn features(&self) -> Vec<String> {
        FeatureSet::of(self).0.into_keys().collect()
    }

    /// Returns the protocol of a new table with this metadata: the features that its properties and its
    /// schema require, `delta.feature.<name>`, and the features of versions (1, 2), or of
    /// `delta.minReaderVersion` and `delta.minWriterVersion`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.version`, `protocol.unknown_feature`.
    pub fn for_new_table(metadata: &Metadata) -> Result<Self> {
        let (reader, writer) = requested_versions(metadata)?;
        let ignores_defaults = metadata.is_on("delta.ignoreProtocolDefaults");
        let defaults = if ignores_defaults {
            (1, 1)
        } else {
            DEFAULT_VERSIONS
        };
        let base = Self {
            // version 3 implies no feature; version 2 is the last that does
            min_reader_version: reader.unwrap_or(defaults.0).min(2),
            min_writer_version: writer.unwrap_or(defaults.1),
            ..Self::default()
        };
        let mut set = FeatureSet::of(&base);
        set.join(named_features(metadata)?);
        set.join(required_features(metadata, &set)?);
        Ok(set.protocol())
    }

    /// Applies delta-spark's ordered rules from before table features: returns the minimum versions (from 0)
    /// of a table with this metadata, and the features that apply.
    ///
    /// Append-only tables have writer version 3 here, as in the output of those rules;
    /// [`Protocol::for_new_table`] uses version 2, which suffices.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.version_property`. Unsupported: `protocol.identity`, since those rules refuse
    /// identity columns.
    pub fn required_minimum(metadata: &Metadata) -> Result<(Self, Vec<&'static str>)> {
        refuse_version_properties(metadata)?;
        let schema = StructType::parse(&metadata.schema_string)?;
        let (mut versions, mut used) = ((0, 0), Vec::new());
        for (name, reader, writer) in [
            ("invariants", 0, 2),
            ("appendOnly", 0, 3),
            ("checkConstraints", 0, 3),
            ("generatedColumns", 0, 4),
            ("changeDataFeed", 0, 4),
            ("identityColumns", 0, 6),
            ("columnMapping", 2, 5),
        ] {
            let Some(feature) = find_feature(name) else {
                continue;
            };
            if feature.is_required_by(metadata, &schema) {
                versions = (versions.0.max(reader), versions.1.max(writer));
                used.push(feature.name);
            }
        }
        if used.contains(&"identityColumns") {
            return Err(Error::unsupported(
                "protocol.identity",
                "IDENTITY column is not supported by the rules from before table features: use Protocol.for_new_table",
            ));
        }
        let protocol = Self {
            min_reader_version: versions.0,
            min_writer_version: versions.1,
            ..Self::default()
        };
        Ok((protocol, used))
    }

    /// Returns the features that metadata requires of a table with `protocol`, those that `protocol` lists for
    /// writers, and their dependencies.
    pub fn automatically_enabled_features(
        metadata: &Metadata,
        protocol: Option<&Self>,
    ) -> Result<Vec<String>> {
        let present = protocol.map(FeatureSet::of).unwrap_or_default();
        let mut set = required_features(metadata, &present)?;
        let listed = protocol.and_then(|protocol| protocol.writer_features.as_ref());
        for name in listed.into_iter().flatten() {
            match find_feature(name) {
                Some(feature) => set.add(feature),
                None => {
                    set.0.insert(name.clone(), false);
                }
            }
        }
        Ok(set.0.into_keys().collect())
    }

    /// Returns the features that metadata requires, with their dependencies, and that this protocol lacks.
    pub fn missing_features(&self, metadata: &Metadata) -> Result<Vec<String>> {
        let present = FeatureSet::of(self);
        let required = required_features(metadata, &present)?;
        let names = required.0.into_keys();
        Ok(names.filter(|name| !present.0.contains_key(name)).collect())
    }

    /// Adds a feature and its dependencies to this protocol.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.unknown_feature`.
    pub fn with_feature(&self, name: &str) -> Result<Self> {
        let mut added = FeatureSet::default();
        added.add(known_feature(name)?);
        Ok(self.joined(added))
    }

    /// Removes a feature from this protocol.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.unknown_feature`; `protocol.not_removable` for a feature that delta-spark
    /// cannot drop either; `protocol.feature_absent`; `protocol.feature_required` with the
    /// features that depend on it.
    pub fn without_feature(&self, name: &str) -> Result<Self> {
        let feature = known_feature(name)?;
        let mut set = FeatureSet::of(self);
        if !feature.is_removable() {
            let message = format!("{} can never be dropped from a table", feature.name);
            return Err(Error::invalid("protocol.not_removable", message));
        }
        if !set.0.contains_key(feature.name) {
            let message = format!("the table does not have {}", feature.name);
            return Err(Error::invalid("protocol.feature_absent", message));
        }
        let depends = |name: &&String| {
            find_feature(name).is_some_and(|other| other.requires.contains(&feature.name))
        };
        let dependents: Vec<_> = set.0.keys().filter(depends).cloned().collect();
        if !dependents.is_empty() {
            let message = format!(
                "{} is required by {}: drop that first",
                feature.name,
                dependents.join(", ")
            );
            return Err(Error::invalid("protocol.feature_required", message));
        }
        set.0.remove(feature.name);
        Ok(set.protocol())
    }

    /// Removes the features of tables whose commits a catalog manages.
    ///
    /// # Errors
    ///
    /// As [`Protocol::without_feature`].
    pub fn without_catalog(&self) -> Result<Self> {
        let mut managed = CATALOG_MANAGED
            .iter()
            .filter(|name| self.is_supported(name));
        managed.try_fold(self.clone(), |protocol, name| {
            protocol.without_feature(name)
        })
    }

    /// Returns the weakest protocol with the features of both, and those of the greater reader version and the
    /// greater writer version.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let versions = Self {
            min_reader_version: self.min_reader_version.max(other.min_reader_version),
            min_writer_version: self.min_writer_version.max(other.min_writer_version),
            ..Self::default()
        };
        let mut set = FeatureSet::of(&versions);
        set.join(FeatureSet::of(self));
        set.join(FeatureSet::of(other));
        set.protocol()
    }

    /// Adds the features of the protocol versions among the properties; a version that is not set is this
    /// protocol's.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.version`.
    pub(crate) fn with_versions(&self, metadata: &Metadata) -> Result<Self> {
        let (reader, writer) = requested_versions(metadata)?;
        let versions = Self {
            min_reader_version: reader.unwrap_or(self.min_reader_version),
            min_writer_version: writer.unwrap_or(self.min_writer_version),
            ..Self::default()
        };
        let writer = versions.min_writer_version;
        if versions.min_reader_version == 3 && writer < 7 {
            let message =
                format!("delta.minReaderVersion 3 needs delta.minWriterVersion 7, not {writer}");
            return Err(Error::invalid("protocol.version", message));
        }
        Ok(self.merge(&versions))
    }

    /// Adds the features that the metadata requires or names; the protocol is unchanged if it has them.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.version_property` if the metadata has protocol versions;
    /// `protocol.manual_enablement` for a feature that must be added by name first;
    /// `protocol.unknown_feature`.
    pub fn upgrade_for(&self, metadata: &Metadata) -> Result<Self> {
        refuse_version_properties(metadata)?;
        let requested = named_features(metadata)?;
        let mut present = FeatureSet::of(self);
        present.join(requested.clone());
        let mut required = required_features(metadata, &present)?;
        required.join(requested.clone());
        let manual: Vec<_> = required
            .0
            .keys()
            .filter(|name| !self.is_supported(name) && !requested.0.contains_key(*name))
            .filter(|name| {
                find_feature(name).is_some_and(|feature| !feature.is_added_automatically())
            })
            .cloned()
            .collect();
        if !manual.is_empty() {
            let message = format!(
                "{} is not added automatically to existing tables: set delta.feature.{} to supported first",
                manual.join(", "),
                manual.first().map_or("", String::as_str)
            );
            return Err(Error::invalid("protocol.manual_enablement", message));
        }
        Ok(self.joined(required))
    }

    /// Returns `true` if `new` has every feature of this protocol: an upgrade drops none.
    pub fn can_upgrade_to(&self, new: &Self) -> bool {
        FeatureSet::of(self).is_subset(&FeatureSet::of(new))
    }

    fn joined(&self, added: FeatureSet) -> Self {
        let mut set = FeatureSet::of(self);
        if added.is_subset(&set) {
            return self.clone();
        }
        set.join(added);
        set.protocol()
    }
}

/// Returns the reader and the writer version among the properties.
fn requested_versions(metadata: &Metadata) -> Result<(Option<i32>, Option<i32>)> {
    let requested = |key: &str, max_version: i32| match metadata.property(key) {
        None => Ok(None),
        Some(text) => match text.trim().parse::<i32>() {
            Ok(version) if (1..=max_version).contains(&version) => Ok(Some(version)),
            _ => {
                let message = format!(
                    "{key} is {}: it must be from 1 to {max_version}",
                    clipped(text)
                );
                Err(Error::invalid("protocol.version", message))
            }
        },
    };
    Ok((
        requested("delta.minReaderVersion", 3)?,
        requested("delta.minWriterVersion", 7)?,
    ))
}

/// Returns the features that properties name, `delta.feature.<name>`, and their dependencies.
fn named_features(metadata: &Metadata) -> Result<FeatureSet> {
    let mut set = FeatureSet::default();
    for key in metadata.configuration.keys() {
        if let Some(name) = feature_name(key) {
            set.add(known_feature(name)?);
        }
    }
    Ok(set)
}

/// Returns the features that properties and schema require, and their dependencies, without those that are
/// present under their other name.
fn required_features(metadata: &Metadata, present: &FeatureSet) -> Result<FeatureSet> {
    let schema = StructType::parse(&metadata.schema_string)?;
    let has_other_name = |feature: &TableFeature| {
        let other = feature.other_name();
        other.is_some_and(|name| present.0.contains_key(name))
    };
    let mut set = FeatureSet::default();
    for feature in TABLE_FEATURES {
        if feature.is_required_by(metadata, &schema) && !has_other_name(feature) {
            set.add(feature);
        }
    }
    Ok(set)
}

fn refuse_version_properties(metadata: &Metadata) -> Result<()> {
    for key in ["delta.minReaderVersion", "delta.minWriterVersion"] {
        if metadata.property(key).is_some() {
            let message =
                format!("Should not have the protocol version ({key}) as part of table properties");
            return Err(Error::invalid("protocol.version_property", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
