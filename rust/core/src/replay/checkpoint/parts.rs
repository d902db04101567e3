//! A checkpoint as plain values that other processes read separately.
//!
//! Splitting reads the control actions, to find the sidecars, and the lengths of files; footers are read
//! together with the rows. A file longer than the target is split by bytes: a unit belongs to the part in
//! which it begins, and the parts of a file cover all bytes, so that each row is read once, whatever the
//! length in the log.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    Checkpoint, Control, manifest_control, open_file, open_own_files, read_manifest, sidecar_paths,
};
use crate::codec::checkpoint::FileAction;
use crate::codec::commit::{ActionDecoder, ActionSelection};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::log::CheckpointInstance;
use crate::log::path::CheckpointName;
use crate::replay::Source;
use crate::spec::file_size::split_files;

/// A file of a checkpoint, or a byte range of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointPart {
    /// Its storage path.
    pub path: String,
    /// Its size, according to the listing or the manifest.
    pub size: Option<u64>,
    /// The rows to read: those whose row group or run of pages begins in this range; `None` for all.
    pub bytes: Option<Range<u64>>,
    /// True for a JSON manifest, false for Parquet.
    pub json: bool,
}

impl CheckpointPart {
    /// Returns its approximate size in bytes.
    pub fn size_in_bytes(&self) -> u64 {
        let size = self.size.unwrap_or_default();
        let bytes = self.bytes.clone().unwrap_or(0..size);
        bytes.end.min(size).saturating_sub(bytes.start)
    }
}

impl Checkpoint {
    /// Splits the checkpoint into runs of parts of about `target_size` bytes that together contain all
    /// `add` and `remove` rows.
    pub fn parts(
        source: &Source,
        instance: &CheckpointInstance,
        target_size: u64,
    ) -> Result<Vec<Vec<CheckpointPart>>> {
        let located = |error: Error| error.at_version(instance.version);
        let mut parts = Vec::new();
        if let CheckpointName::Part { .. } = instance.name {
            // V1 content: there are no sidecars
            let files = instance.files.iter();
            parts.extend(files.map(|file| (file.path.clone(), Some(file.size))));
            return Ok(split_into_runs(parts, target_size));
        }
        let mut runs = Vec::new();
        let mut holds_files = false;
        let none = FileColumns::default();
        let (control, manifest) = open_own_files(source, instance, None, &mut |open| {
            holds_files = [FileAction::Add, FileAction::Remove]
                .into_iter()
                .any(|action| !open.file.units(action, &none, u64::MAX).is_empty());
        })
        .map_err(located)?;
        let size = instance.files.first().map(|file| file.size);
        if let Some((path, bytes)) = manifest {
            let inline = has_files(&bytes).map_err(|error| located(error.at_path(path.clone())))?;
            if inline {
                runs.push(vec![CheckpointPart {
                    path,
                    size,
                    bytes: None,
                    json: true,
                }]);
            }
        } else if holds_files {
            parts.push((instance.path().to_owned(), size));
        }
        parts.extend(sidecar_paths(source, &control.sidecars, instance.path()).map_err(located)?);
        runs.extend(split_into_runs(parts, target_size));
        Ok(runs)
    }

    /// Opens parts of the checkpoint of `version`.
    pub fn of_parts(source: &Source, version: u64, parts: &[CheckpointPart]) -> Result<Self> {
        let mut manifest = None;
        let mut files = Vec::new();
        for part in parts {
            let located = |error: Error| error.at_path(part.path.clone()).at_version(version);
            if part.json {
                let bytes = read_manifest(&*source.storage, &part.path).map_err(located)?;
                manifest_control(&bytes).map_err(located)?;
                manifest = Some((part.path.clone(), bytes));
                continue;
            }
            let (mut file, _) =
                open_file(&*source.storage, &part.path, part.size, false, None).map_err(located)?;
            file.bytes = part.bytes.clone();
            files.push(file);
        }
        Ok(Self {
            source: source.clone(),
            version,
            files: files.into(),
            manifest,
            control: Control::default(),
        })
    }
}

/// Returns `true` if a JSON manifest has file actions of its own.
fn has_files(bytes: &[u8]) -> Result<bool> {
    let mut decoder = ActionDecoder::new(ActionSelection {
        adds: Some(vec![FileField::Path]),
        removes: Some(vec![FileField::Path]),
        ..ActionSelection::default()
    });
    decoder.decode(bytes)?;
    let actions = decoder.finish()?;
    let mut kinds = actions.adds.iter().chain(actions.removes.iter());
    Ok(kinds.any(|files| !files.sequence.is_empty()))
}

/// Groups files into runs of about `target_size` bytes; larger files are split by bytes, and one of unknown
/// length counts as a whole run.
fn split_into_runs(
    files: Vec<(String, Option<u64>)>,
    target_size: u64,
) -> Vec<Vec<CheckpointPart>> {
    let target_size = target_size.max(1);
    let sized = |file: (String, Option<u64>)| {
        let size = file.1.unwrap_or(target_size);
        (file, size)
    };
    let part = |(path, size), bytes| CheckpointPart {
        path,
        size,
        bytes,
        json: false,
    };
    split_files(files.into_iter().map(sized), target_size, 1, part)
}

#[cfg(test)]
mod tests;
