//! Decodes JSON actions into columns: commits, log compaction files and JSON checkpoint manifests.
//!
//! Takes the bytes of files, oldest first; returns one [`ActionBatch`] for all of them. Most lines of file actions
//! and `commitInfo` that are not requested are skipped by their first bytes, without being parsed. No I/O.
//!
//! Protocol: "Delta Log Entries", "Log Compaction Files", "Actions".

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::action_json::{
    domain_metadata_from_json, metadata_from_json, protocol_from_json, transaction_from_json,
};
use super::file_actions::{
    ADD_FIELDS, CDC_FIELDS, FileActionBuilder, FileField, REMOVE_FIELDS, RawFileAction,
};
use crate::error::{Error, Result};
use crate::spec::actions::Sidecar;
use crate::spec::json::{Cursor, JsonError};
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

/// The maximum length of all strings of one kind of file action in bytes, below the limit of Arrow's 32-bit
/// offsets.
const MAX_BATCH_TEXT: usize = 1 << 30;

/// The actions to decode, and the fields of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionSelection {
    /// Fields of `add`; `None` skips the action.
    pub adds: Option<Vec<FileField>>,
    /// Fields of `remove`; `None` skips the action.
    pub removes: Option<Vec<FileField>>,
    /// Fields of `cdc`; `None` skips the action.
    pub cdcs: Option<Vec<FileField>>,
    /// `protocol`, `metaData`, `txn`, `domainMetadata` and, in a manifest, `sidecar`.
    pub control: bool,
    /// `commitInfo`, as JSON text.
    pub commit_infos: bool,
}

impl ActionSelection {
    /// Selects all actions with all of their fields.
    pub fn everything() -> Self {
        Self {
            adds: Some(ADD_FIELDS.to_vec()),
            removes: Some(REMOVE_FIELDS.to_vec()),
            cdcs: Some(CDC_FIELDS.to_vec()),
            control: true,
            commit_infos: true,
        }
    }
}

/// The rows of one kind of file action, in log order.
#[derive(Clone, Debug)]
pub struct FileActions {
    /// One row per action.
    pub rows: RecordBatch,
    /// The position of each row among all actions of the batch; ascending.
    pub sequence: Vec<u32>,
}

/// A control action with its position among all actions of the batch.
pub type Positioned<T> = (u32, T);

/// The actions of a run of commits, in log order.
#[derive(Clone, Debug, Default)]
pub struct ActionBatch {
    /// `add` rows.
    pub adds: Option<FileActions>,
    /// `remove` rows.
    pub removes: Option<FileActions>,
    /// `cdc` rows.
    pub cdcs: Option<FileActions>,
    /// `protocol` actions.
    pub protocols: Vec<Positioned<Protocol>>,
    /// `metaData` actions.
    pub metadatas: Vec<Positioned<Metadata>>,
    /// `txn` actions.
    pub transactions: Vec<Positioned<SetTransaction>>,
    /// `domainMetadata` actions, tombstones too.
    pub domains: Vec<Positioned<DomainMetadata>>,
    /// `sidecar` actions of a checkpoint manifest.
    pub sidecars: Vec<Sidecar>,
    /// `commitInfo` actions as JSON text.
    pub commit_infos: Vec<Positioned<String>>,
    /// The first position of each decoded file.
    pub starts: Vec<u32>,
    /// The number of positions.
    pub num_positions: u32,
}

impl ActionBatch {
    /// Returns the last protocol, which takes effect, if there is one.
    pub fn protocol(&self) -> Option<&Protocol> {
        self.protocols.last().map(|(_, protocol)| protocol)
    }

    /// Returns the last metadata, which takes effect, if there is one.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadatas.last().map(|(_, metadata)| metadata)
    }

    /// Returns the first `commitInfo`, as JSON text.
    pub fn commit_info(&self) -> Option<&str> {
        self.commit_infos.first().map(|(_, text)| text.as_str())
    }

    /// Returns the entries of the first `commitInfo`; empty if there is none, or if it is not an object.
    pub fn info(&self) -> Map<String, Value> {
        let info = self.commit_info();
        info.and_then(|text| parse_commit_info(text).ok())
            .unwrap_or_default()
    }
}

/// Parses the entries of a `commitInfo`. Its content is up to the writer, and little depends on it: a value
/// that cannot be parsed, such as a number out of range, is omitted.
///
/// # Errors
///
/// The text is not a JSON object.
pub fn parse_commit_info(text: &str) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_str(text).or_else(|_| parsable_entries(text))
}

/// Parses the entries of an object, without those that cannot be parsed.
fn parsable_entries(text: &str) -> serde_json::Result<Map<String, Value>> {
    let entries: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
    let value = |raw: &RawValue| match serde_json::from_str(raw.get()) {
        Ok(value) => Some(value),
        Err(_) => parsable_entries(raw.get()).ok().map(Value::Object),
    };
    let entry = |(key, raw)| Some((key, value(raw)?));
    Ok(entries.into_iter().filter_map(entry).collect())
}

/// Returns the error for actions that Arrow refuses.
pub fn columns_error(cause: ArrowError) -> Error {
    let message = "the actions do not fit into Arrow columns";
    Error::corrupt("commit.columns", message).because(cause)
}

/// Decodes files of action lines, oldest first.
pub struct ActionDecoder {
    selection: ActionSelection,
    adds: Option<Sequenced>,
    removes: Option<Sequenced>,
    cdcs: Option<Sequenced>,
    out: ActionBatch,
}

/// Actions of one kind, with their positions among all actions.
struct Sequenced {
    builder: FileActionBuilder,
    sequence: Vec<u32>,
}

impl Sequenced {
    fn new(fields: &[FileField]) -> Self {
        Self {
            builder: FileActionBuilder::new(fields),
            sequence: Vec::new(),
        }
    }

    fn finish(&mut self) -> Result<FileActions> {
        Ok(FileActions {
            rows: self.builder.finish().map_err(columns_error)?,
            sequence: std::mem::take(&mut self.sequence),
        })
    }
}

impl ActionDecoder {
    /// Creates a decoder for these actions.
    pub fn new(selection: ActionSelection) -> Self {
        let actions = |fields: &Option<Vec<FileField>>| fields.as_deref().map(Sequenced::new);
        Self {
            adds: actions(&selection.adds),
            removes: actions(&selection.removes),
            cdcs: actions(&selection.cdcs),
            out: ActionBatch::default(),
            selection,
        }
    }

    /// Decodes one file, newer than all before it.
    ///
    /// # Errors
    ///
    /// Corrupt, with line and byte offset: `commit.utf8`, `commit.json`, `commit.torn` if the last line is
    /// incomplete, `commit.action` if a control action lacks a field or has one of another type.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<()> {
        self.begin_file();
        self.decode_piece(bytes)
    }

    /// Begins a file that is decoded in pieces.
    pub fn begin_file(&mut self) {
        self.out.starts.push(self.out.num_positions);
    }

    /// Decodes some whole lines of the file; errors count lines and bytes from the beginning of the piece.
    pub fn decode_piece(&mut self, bytes: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(bytes).map_err(|cause| {
            let at = cause.valid_up_to();
            let message = "the file is not UTF-8: restore it from a backup or another replica";
            Error::corrupt("commit.utf8", message)
                .at_line(line_number(bytes, at))
                .at_offset(at as u64)
        })?;
        let mut start = 0;
        while start < text.len() {
            let rest = text.get(start..).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            let last = start + length + 1 >= text.len();
            // a byte order mark, from an editor; Spark ignores it, too
            let action = line.strip_prefix('\u{feff}').unwrap_or(line);
            if !action.trim_ascii().is_empty() && (last || !self.skip_unselected(action)) {
                self.decode_line(action).map_err(|problem| {
                    let begin = start + line.len() - action.len();
                    problem.locate(bytes, begin, last && length == rest.len())
                })?;
            }
            start += length + 1;
        }
        Ok(())
    }

    /// Skips a whole line if its first bytes name an action that is not selected and no other can follow;
    /// returns `true` if it did.
    fn skip_unselected(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("{\"") else {
            return false;
        };
        let begins_with = |name: &str, is_unselected: bool| {
            is_unselected
                && rest
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with("\":{"))
        };
        let is_unselected = begins_with("commitInfo", !self.selection.commit_infos)
            || begins_with("add", self.adds.is_none())
            || begins_with("remove", self.removes.is_none())
            || begins_with("cdc", self.cdcs.is_none());
        let line = line.trim_ascii_end();
        // after a carriage return, another action may follow
        if is_unselected && line.ends_with("}}") && memchr::memchr(b'\r', line.as_bytes()).is_none()
        {
            self.out.num_positions += 1;
            return true;
        }
        false
    }

    /// Decodes the actions of a line: usually one, but Spark also ends lines at a carriage return alone.
    fn decode_line(&mut self, line: &str) -> std::result::Result<(), Problem> {
        let mut cursor = Cursor::new(line);
        loop {
            self.decode_action(&mut cursor)?;
            let end = cursor.offset();
            let Err(problem) = cursor.end() else {
                return Ok(());
            };
            let between = line.get(end..cursor.offset()).unwrap_or_default();
            if !between.contains('\r') {
                return Err(problem.into());
            }
        }
    }

    fn decode_action(&mut self, cursor: &mut Cursor<'_>) -> std::result::Result<(), Problem> {
        let position = self.out.num_positions;
        self.out.num_positions = position.checked_add(1).ok_or(Problem::Json(JsonError {
            offset: 0,
            message: "the batch has more than 2^32 - 1 actions",
        }))?;
        cursor.begin_object()?;
        let mut first = true;
        while let Some(kind) = cursor.next_key(&mut first)? {
            if cursor.null()? {
                continue;
            }
            let begin = cursor.offset();
            let problem = |error: Error| Problem::Action(begin, error);
            let control = self.selection.control;
            match kind.decode().as_ref() {
                "add" => file_action(cursor, self.adds.as_mut(), position)?,
                "remove" => file_action(cursor, self.removes.as_mut(), position)?,
                "cdc" => file_action(cursor, self.cdcs.as_mut(), position)?,
                "commitInfo" if self.selection.commit_infos => {
                    self.out
                        .commit_infos
                        .push((position, cursor.skip()?.to_owned()));
                }
                "protocol" if control => {
                    let action = protocol_from_json(cursor.skip()?).map_err(problem)?;
                    self.out.protocols.push((position, action));
                }
                "metaData" if control => {
                    let action = metadata_from_json(cursor.skip()?).map_err(problem)?;
                    self.out.metadatas.push((position, action));
                }
                "txn" if control => {
                    let action = transaction_from_json(cursor.skip()?).map_err(problem)?;
                    self.out.transactions.push((position, action));
                }
                "domainMetadata" if control => {
                    let action = domain_metadata_from_json(cursor.skip()?).map_err(problem)?;
                    self.out.domains.push((position, action));
                }
                "sidecar" if control => self.out.sidecars.push(sidecar(cursor)?),
                _ => {
                    cursor.skip()?;
                }
            }
        }
        Ok(())
    }

    /// Returns the actions decoded so far and resets the decoder.
    pub fn finish(&mut self) -> Result<ActionBatch> {
        let mut out = std::mem::take(&mut self.out);
        out.adds = self.adds.as_mut().map(Sequenced::finish).transpose()?;
        out.removes = self.removes.as_mut().map(Sequenced::finish).transpose()?;
        out.cdcs = self.cdcs.as_mut().map(Sequenced::finish).transpose()?;
        Ok(out)
    }
}

fn file_action(
    cursor: &mut Cursor<'_>,
    actions: Option<&mut Sequenced>,
    position: u32,
) -> std::result::Result<(), JsonError> {
    let raw = RawFileAction::read(cursor)?;
    let Some(actions) = actions else {
        return Ok(());
    };
    if actions.builder.text_bytes() > MAX_BATCH_TEXT {
        return Err(JsonError {
            offset: cursor.offset(),
            message: "one file holds more than 1 GiB of text",
        });
    }
    actions.builder.append(&raw)?;
    actions.sequence.push(position);
    Ok(())
}

fn sidecar(cursor: &mut Cursor<'_>) -> std::result::Result<Sidecar, JsonError> {
    let begin = cursor.offset();
    let (mut path, mut size_in_bytes, mut modification_time) = (None, 0, 0);
    cursor.each_field(|cursor, key| {
        match key {
            "path" => path = Some(cursor.string()?.decode().into_owned()),
            "sizeInBytes" => size_in_bytes = cursor.i64()?,
            "modificationTime" => modification_time = cursor.i64()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let path = path.ok_or(JsonError {
        offset: begin,
        message: "the sidecar has no path",
    })?;
    Ok(Sidecar {
        path,
        size_in_bytes,
        modification_time,
    })
}

enum Problem {
    Json(JsonError),
    Action(usize, Error),
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        Problem::Json(error)
    }
}

impl Problem {
    /// Adds line and byte offset to the error; `start` is the offset of the line, and `torn` means that the line
    /// is the last one and has no line feed.
    fn locate(self, bytes: &[u8], start: usize, torn: bool) -> Error {
        let (offset, error) = match self {
            Problem::Action(offset, error) => (offset, error),
            Problem::Json(problem) if torn && start + problem.offset >= bytes.len() => {
                let message = format!(
                    "the last line is not complete ({}): the file was not written to its end; restore it from \
                     a backup, or ask its writer",
                    problem.message
                );
                (problem.offset, Error::corrupt("commit.torn", message))
            }
            Problem::Json(problem) => {
                let message = format!("the line is not a JSON action: {}", problem.message);
                (problem.offset, Error::corrupt("commit.json", message))
            }
        };
        error
            .at_line(line_number(bytes, start))
            .at_offset((start + offset) as u64)
    }
}

/// Returns the 1-based number of the line that contains the byte `at`.
fn line_number(bytes: &[u8], at: usize) -> u64 {
    let before = bytes.get(..at).unwrap_or(bytes);
    1 + memchr::memchr_iter(b'\n', before).count() as u64
}
