//! Checks that the observations of the actors agree with the created commits.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use deltareplay_core::error::Result;
use serde_json::Value;

/// The outcome of a commit, according to its writer.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Acknowledged(u64),
    Failed(String),
    Unknown,
}

/// An observation of an actor; calls are counted over all actors.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Began,
    Ended {
        id: String,
        outcome: Outcome,
        call: u64,
    },
    Read {
        version: u64,
        files: Vec<String>,
        began: u64,
    },
    Missing {
        path: String,
        version: u64,
    },
    Violation(String),
}

/// A commit, as it was created.
struct Commit {
    id: String,
    timestamp: Option<i64>,
    adds: Vec<String>,
    removes: Vec<String>,
}

fn parsed(bytes: &Bytes) -> Commit {
    let mut commit = Commit {
        id: String::new(),
        timestamp: None,
        adds: Vec::new(),
        removes: Vec::new(),
    };
    for line in String::from_utf8_lossy(bytes).lines() {
        let action: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(info) = action.get("commitInfo") {
            commit.id = text(&info["txnId"]);
            commit.timestamp = info["inCommitTimestamp"].as_i64();
        } else if let Some(add) = action.get("add") {
            commit.adds.push(text(&add["path"]));
        } else if let Some(remove) = action.get("remove") {
            commit.removes.push(text(&remove["path"]));
        }
    }
    commit
}

/// Returns the live files of every version, and errors in the commits themselves.
fn replayed(
    created: &[(String, Bytes)],
    violations: &mut Vec<String>,
) -> (Vec<Commit>, Vec<Vec<String>>) {
    let (mut commits, mut states) = (Vec::new(), Vec::new());
    let mut live = BTreeSet::new();
    for (expected, (path, bytes)) in created.iter().enumerate() {
        if *path != format!("_delta_log/{expected:020}.json") {
            violations.push(format!(
                "{path} was created where version {expected} was due"
            ));
        }
        let commit = parsed(bytes);
        for path in &commit.removes {
            if !live.remove(path) {
                violations.push(format!(
                    "version {expected} removes {path}, which is not live"
                ));
            }
        }
        for path in &commit.adds {
            if !live.insert(path.clone()) {
                violations.push(format!("version {expected} adds {path}, which is live"));
            }
        }
        commits.push(commit);
        states.push(live.iter().cloned().collect());
    }
    (commits, states)
}

/// Returns the contradictions between the commits in the order of their creation, the observations, and the table
/// at the end.
pub(super) fn violations_of(
    created: &[(String, Bytes)],
    events: &[Event],
    last: Result<(u64, Vec<String>)>,
) -> Vec<String> {
    let mut violations = Vec::new();
    let (commits, states) = replayed(created, &mut violations);
    let mut versions: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (version, commit) in (0..).zip(&commits) {
        versions.entry(&commit.id).or_default().push(version);
    }
    for (id, result) in versions.iter().filter(|(_, result)| result.len() > 1) {
        violations.push(format!("commit {id} exists as versions {result:?}"));
    }
    let times: Vec<i64> = commits
        .iter()
        .filter_map(|commit| commit.timestamp)
        .collect();
    if !times.windows(2).all(|pair| pair[0] < pair[1]) {
        violations.push(format!("in-commit timestamps do not ascend: {times:?}"));
    }
    let mut acknowledged = Vec::new();
    for event in events {
        match event {
            Event::Ended { id, outcome, call } => {
                let result = versions.get(id.as_str()).and_then(|result| result.first());
                match outcome {
                    Outcome::Acknowledged(version) if result == Some(version) => {
                        acknowledged.push((*version, *call));
                    }
                    Outcome::Acknowledged(version) => {
                        violations.push(format!(
                            "version {version} was acknowledged to {id}: {result:?}"
                        ));
                    }
                    Outcome::Failed(error) if result.is_some() => {
                        violations
                            .push(format!("{id} exists, but was reported as failed: {error}"));
                    }
                    Outcome::Failed(_) | Outcome::Unknown => {}
                }
            }
            Event::Missing { path, version } => {
                violations.push(format!("{path}, live in version {version}, does not exist"));
            }
            Event::Violation(text) => violations.push(text.clone()),
            Event::Began | Event::Read { .. } => {}
        }
    }
    for event in events {
        if let Event::Read {
            version,
            files,
            began,
        } = event
        {
            let index = usize::try_from(*version).unwrap();
            if states.get(index) != Some(files) {
                violations.push(format!("version {version} was read as {files:?}"));
            }
            let newer = acknowledged
                .iter()
                .find(|(other, call)| call <= began && other > version);
            if let Some((newer, _)) = newer {
                violations.push(format!("version {version} was read after version {newer}"));
            }
        }
    }
    match last {
        Err(error) => violations.push(format!("the table does not open: {error:?}")),
        Ok((version, live)) => {
            if version + 1 != states.len() as u64 || states.last() != Some(&live) {
                violations.push(format!(
                    "the last version is {version} with the files {live:?}"
                ));
            }
        }
    }
    let began = events.iter().filter(|event| matches!(event, Event::Began));
    if began.count() == 0 {
        violations.push("no commit was attempted".to_owned());
    }
    violations
}
