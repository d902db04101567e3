//! Checks one commit individually and against the state before it.
//!
//! Protocol: "Actions", "Add File and Remove File", "In-Commit Timestamps", "Protocol Evolution".

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::findings::{Findings, Location, Severity};
use super::state::{LiveFile, State};
use crate::error::{Error, Result};
use crate::log::VersionedFile;
use crate::replay::{FileActionKey, Source};
use crate::spec::column_mapping;
use crate::spec::features::TABLE_FEATURES;
use crate::spec::properties::TableProperties;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};
use crate::transaction::WholeCommit;

const DUPLICATE: &str = "commit.duplicate_action";

pub(super) fn apply(
    source: &Source,
    (file, commit): (&VersionedFile, &WholeCommit),
    state: &mut State,
    findings: &mut Findings,
) -> Result<()> {
    let location = (Some(file.file.path.as_str()), Some(file.version));
    let mut report = |code, message: String| findings.fault(code, location, message);
    check_duplicates(commit, &mut report);
    state.log.apply(&commit.actions);
    let timestamp_before = state.timestamp.take();
    if file.version == 0 {
        for (is_missing, code, kind) in [
            (state.log.protocol.is_none(), "log.no_protocol", "protocol"),
            (state.log.metadata.is_none(), "log.no_metadata", "metaData"),
        ] {
            if is_missing {
                report(code, format!("the first commit has no {kind} action"));
            }
        }
    }
    let changes_definition =
        !commit.actions.protocols.is_empty() || !commit.actions.metadatas.is_empty();
    if let (Some(protocol), Some(metadata)) = (&state.log.protocol, &state.log.metadata) {
        if changes_definition {
            let checked = check_definition(protocol, metadata, location, findings);
            let located = |error: Error| error.at_path(&file.file.path).at_version(file.version);
            findings.unless_interrupted(checked.map_err(located))?;
        }
        // invalid properties are reported once, for the commit that set them
        if let Ok((properties, _)) = TableProperties::new(metadata, protocol) {
            check_files(commit, metadata, protocol, &properties, location, findings);
            state.timestamp =
                check_timestamp(commit, &properties, timestamp_before, location, findings);
        }
    }
    replay(source, commit, state, location, findings);
    Ok(())
}

/// Checks the actions that may occur only once in a commit.
fn check_duplicates(commit: &WholeCommit, report: &mut impl FnMut(&'static str, String)) {
    let actions = &commit.actions;
    for (count, kind) in [
        (actions.protocols.len(), "protocol"),
        (actions.metadatas.len(), "metaData"),
        (actions.commit_infos.len(), "commitInfo"),
    ] {
        if count > 1 {
            let message = format!("the commit has {count} {kind} actions; only one is allowed");
            report(DUPLICATE, message);
        }
    }
    let mut applications: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, txn) in &actions.transactions {
        if let Some(before) = applications.insert(&txn.app_id, txn.version)
            && before != txn.version
        {
            let message = format!("the application {:?} has two versions", txn.app_id);
            report(DUPLICATE, message);
        }
    }
    let mut domains: HashSet<&str> = HashSet::new();
    for (_, domain) in &actions.domains {
        if !domains.insert(&domain.domain) {
            let message = format!("the domain {:?} occurs twice", domain.domain);
            report(DUPLICATE, message);
        }
    }
}

/// Checks protocol and metadata, individually and against each other.
fn check_definition(
    protocol: &Protocol,
    metadata: &Metadata,
    location: Location<'_>,
    findings: &mut Findings,
) -> Result<()> {
    if let Err(error) = protocol.check_well_formed() {
        findings.fault(error.code(), location, error.message());
    }
    if protocol.has_redundant_lists() {
        let message = "the protocol action has an empty list of features, although its version does not \
            have such lists";
        findings.add(Severity::Warning, "protocol.empty_lists", location, message);
    }
    for obstacle in protocol.why_not_readable() {
        let message = format!("this build cannot read the version: {obstacle}");
        let code = "protocol.reader_features";
        findings.add(Severity::Info, code, location, message);
    }
    for feature in TABLE_FEATURES {
        let listed = |list: &Option<Vec<String>>| {
            let mut names = list.iter().flatten();
            names.any(|name| name.eq_ignore_ascii_case(feature.name))
        };
        if !listed(&protocol.reader_features) && !listed(&protocol.writer_features) {
            continue;
        }
        for required in feature.requires {
            if !protocol.is_supported(required) {
                let message = format!(
                    "the feature {} requires {required}, which is not listed",
                    feature.name
                );
                findings.fault("protocol.dependency", location, message);
            }
        }
    }
    let schema = StructType::parse(&metadata.schema_string);
    let schema = schema.map_err(|error| error.at_path(location.0.unwrap_or_default()));
    let schema = findings.unless_interrupted(schema)?;
    let Some(schema) = schema else { return Ok(()) };
    let (properties, _) = TableProperties::new(metadata, protocol)?;
    for fault in column_mapping::faults(&schema, properties.column_mapping_mode) {
        findings.fault("schema.column_mapping", location, fault.message);
    }
    if let Err(error) = metadata.check_partition_columns(&schema) {
        findings.fault(error.code(), location, error.message());
    }
    let missing = protocol.missing_features(metadata);
    for feature in findings.unless_interrupted(missing)?.unwrap_or_default() {
        let message =
            format!("the metadata requires the feature {feature}, which the protocol lacks");
        findings.fault("transaction.feature_missing", location, message);
    }
    Ok(())
}

/// Checks partition values and deletion vectors of files.
fn check_files(
    commit: &WholeCommit,
    metadata: &Metadata,
    protocol: &Protocol,
    properties: &TableProperties,
    location: Location<'_>,
    findings: &mut Findings,
) {
    let mode = properties.column_mapping_mode;
    let names = StructType::parse(&metadata.schema_string)
        .and_then(|schema| schema.names_in_files(&metadata.partition_columns, mode));
    // an invalid schema is reported once, for the commit that set it
    let Ok(names) = names else { return };
    let names: BTreeSet<String> = names.into_iter().collect();
    for file in &commit.adds {
        let keys = || file.partition_values.keys();
        if !keys().eq(names.iter()) {
            let message = format!(
                "{} has values of the partition columns {:?}, but the table has {names:?}",
                file.path,
                keys().collect::<Vec<_>>()
            );
            // an absent key is null to all readers; a value for an unknown column may belong to another table
            let severity = if keys().all(|key| names.contains(key)) {
                Severity::Warning
            } else {
                Severity::Error
            };
            findings.add(severity, "commit.partition_values", location, message);
        }
        if file.deletion_vector.is_none() {
            continue;
        }
        if !protocol.is_supported("deletionVectors") {
            let message = format!(
                "{} has a deletion vector, but the table lacks the feature deletionVectors",
                file.path
            );
            findings.fault("commit.vector", location, message);
        }
        if file.num_records().is_none() {
            let message = format!("{} has a deletion vector, but no numRecords", file.path);
            findings.fault("commit.vector", location, message);
        }
    }
}

/// Checks the in-commit timestamp against that of the previous version; returns it if it is required.
fn check_timestamp(
    commit: &WholeCommit,
    properties: &TableProperties,
    before: Option<i64>,
    location: Location<'_>,
    findings: &mut Findings,
) -> Option<i64> {
    let enablement = properties.in_commit_timestamp_enablement.as_ref();
    let is_required = properties.in_commit_timestamps
        && enablement.is_none_or(|enablement| location.1 >= Some(enablement.version));
    let timestamp_of_commit = commit.in_commit_timestamp();
    let info = commit.actions.commit_infos.first();
    let info_position = info.map(|(position, _)| *position);
    let fault = match (is_required, timestamp_of_commit, before) {
        (true, None, _) => {
            Some("in-commit timestamps are enabled, but the commit has none".to_owned())
        }
        (true, Some(now), Some(before)) if now <= before => Some(format!(
            "the in-commit timestamp {now} is not later than {before}, that of the version before"
        )),
        (true, Some(_), _) if info_position > Some(0) => {
            Some("commitInfo is not the first line, as in-commit timestamps require".to_owned())
        }
        _ => None,
    };
    if let Some(message) = fault {
        findings.fault("commit.in_commit_timestamp", location, message);
    }
    timestamp_of_commit.filter(|_| is_required)
}

/// Applies added and removed files; each may occur once in a commit.
fn replay(
    source: &Source,
    commit: &WholeCommit,
    state: &mut State,
    location: Location<'_>,
    findings: &mut Findings,
) {
    let keys = &source.keys;
    let mut removed: HashMap<FileActionKey, FileActionKey> = HashMap::new();
    for file in &commit.removes {
        let path = keys.key(&file.path, None);
        let key = keys.of_file(&file.path, file.deletion_vector.as_ref());
        if removed.insert(path, key).is_some() {
            let message = format!("{} is removed twice", file.path);
            findings.fault(DUPLICATE, location, message);
        }
        if let Some(live) = state.live.get(&path)
            && live.key == key
        {
            state.live.remove(&path);
        }
    }
    let mut added: HashSet<FileActionKey> = HashSet::new();
    for file in &commit.adds {
        let path = keys.key(&file.path, None);
        let key = keys.of_file(&file.path, file.deletion_vector.as_ref());
        let fault = if !added.insert(path) {
            Some(format!("{} is added twice", file.path))
        } else if removed.get(&path) == Some(&key) {
            Some(format!("{} is added and removed", file.path))
        } else if let Some(live) = state.live.get(&path)
            && live.key != key
        {
            Some(format!(
                "{} is added with another deletion vector, but not removed with its current one",
                file.path
            ))
        } else {
            None
        };
        if let Some(message) = fault {
            findings.fault(DUPLICATE, location, message);
        }
        let vector = file.deletion_vector.as_ref();
        let live = LiveFile {
            key,
            size: file.size,
            deleted: vector.map(|vector| vector.cardinality()),
        };
        state.live.insert(path, live);
    }
}
